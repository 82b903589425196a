"""The controller of one host: what its lines do (manual, 9)."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.faults import UNHARMED, Effect
from sim_instruments.port import Port
from sim_instruments.wires.prologix.addresses import Address, parse_addresses
from sim_instruments.wires.prologix.bus import Bus
from sim_instruments.wires.prologix.lines import Command, Data
from sim_instruments.wires.prologix.reading import Extent, Reading
from sim_instruments.wires.prologix.settings import END_OF_STRING, LIMITS, Settings

VERSION = "Prologix GPIB-ETHERNET Controller version 01.06.06.00 (sim_instruments)"
UNRECOGNIZED = "Unrecognized command"

_END_OF_LINE = "\r\n"
_MOST_TRIGGERED = 15


class Controller:
    """Obeys one host.

    Args:
        bus: the instruments.
        send: takes what goes to the host, with the faults that strike it.
        resume: called at the end of a read that had to wait.
    """

    def __init__(
        self, bus: Bus, send: Callable[[bytes, Effect], None], resume: Callable[[], None]
    ) -> None:
        self._bus = bus
        self._send = send
        self._resume = resume
        self._settings = Settings()
        self._address = Address(0)
        self._reading: Reading | None = None
        self._commands: dict[str, Callable[[list[str]], bool]] = {
            "addr": self._set_address,
            "clr": self._clear,
            "help": self._help,
            "ifc": _nothing,
            "llo": _nothing,
            "loc": _nothing,
            "mode": self._mode,
            "read": self._read,
            "rst": self._reset,
            "spoll": self._serial_poll,
            "srq": self._service_request,
            "trg": self._trigger,
            "ver": self._tell_version,
        }

    @property
    def is_reading(self) -> bool:
        """Whether a read is under way, whose end the next line has to wait for."""
        return self._reading is not None

    def obey(self, line: Command | Data) -> None:
        """Do what a line says."""
        if isinstance(line, Data):
            self._write(line)
        else:
            self._command(line.text)

    def close(self) -> None:
        """Let go of the instruments."""
        if self._reading is not None:
            self._reading.stop()
        self._bus.close()

    def _write(self, data: Data) -> None:
        port = self._bus.port(self._address)
        settings = self._settings
        if port is not None:
            end = END_OF_STRING[settings.eos] if data.is_end else b""
            port.write(data.payload + end, end=data.is_end and settings.eoi == 1)
        asks = settings.auto == 1 or (settings.auto == 2 and data.payload.rstrip().endswith(b"?"))
        if data.is_end and asks:
            self._begin_reading("eoi")

    def _command(self, text: str) -> None:
        name, *words = text.split() or [""]
        name = name.lower()
        if name in LIMITS:
            is_understood = self._set(name, words)
        else:
            is_understood = name in self._commands and self._commands[name](words)
        if not is_understood:
            self._tell(UNRECOGNIZED)

    def _tell(self, text: object) -> None:
        self._send(f"{text}{_END_OF_LINE}".encode(), UNHARMED)

    def _set(self, name: str, words: list[str]) -> bool:
        least, greatest = LIMITS[name]
        if not words:
            self._tell(getattr(self._settings, name))
            return True
        if len(words) > 1 or not words[0].isascii() or not words[0].isdecimal():
            return False
        value = int(words[0])
        if not least <= value <= greatest:
            return False
        setattr(self._settings, name, value)
        return True

    def _set_address(self, words: list[str]) -> bool:
        if not words:
            self._tell(self._address)
            return True
        addresses = parse_addresses(words)
        if addresses is None or len(addresses) != 1:
            return False
        (self._address,) = addresses
        return True

    def _mode(self, words: list[str]) -> bool:
        # As a device the controller would be an instrument itself, which is not simulated.
        if not words:
            self._tell(1)
        return words in ([], ["1"])

    def _read(self, words: list[str]) -> bool:
        match words:
            case []:
                self._begin_reading(None)
            case [("eoi" | "EOI")]:
                self._begin_reading("eoi")
            case [number] if number.isascii() and number.isdecimal() and int(number) <= 255:
                self._begin_reading(int(number))
            case _:
                return False
        return True

    def _begin_reading(self, until: str | int | None) -> None:
        settings = self._settings
        reading = Reading(
            self._bus.port(self._address),
            Extent(
                until=until,
                timeout_s=settings.read_tmo_ms / 1000,
                end_mark=bytes([settings.eot_char]) if settings.eot_enable else b"",
            ),
            self._send,
            self._end_reading,
        )
        reading.start()
        self._reading = None if reading.is_over else reading

    def _end_reading(self) -> None:
        self._reading = None
        self._resume()

    def _clear(self, _words: list[str]) -> bool:
        port = self._bus.port(self._address)
        if port is not None:
            port.clear()
        return True

    def _serial_poll(self, words: list[str]) -> bool:
        addresses = parse_addresses(words)
        if addresses is None or len(addresses) > 1:
            return False
        port = self._bus.port(addresses[0] if addresses else self._address)
        self._tell(port.status_byte() if port is not None else 0)
        return True

    def _service_request(self, _words: list[str]) -> bool:
        self._tell(int(self._bus.requests_service()))
        return True

    def _trigger(self, words: list[str]) -> bool:
        addresses = parse_addresses(words)
        if addresses is None or len(addresses) > _MOST_TRIGGERED:
            return False
        for address in addresses or [self._address]:
            port: Port | None = self._bus.port(address)
            if port is not None:
                # The same as the interface's trigger message (IEEE 488.2, 10.37).
                port.write(b"*TRG", end=True)
        return True

    def _reset(self, _words: list[str]) -> bool:
        self._settings = Settings()
        self._address = Address(0)
        return True

    def _tell_version(self, _words: list[str]) -> bool:
        self._tell(VERSION)
        return True

    def _help(self, _words: list[str]) -> bool:
        for name in sorted({*self._commands, *LIMITS}):
            self._tell(f"++{name}")
        return True


def _nothing(_words: list[str]) -> bool:
    """Accept what would concern a front panel, or a talker that is still addressed."""
    return True

"""All that touches pyvisa-sim's private names, so that its next version can break one file only.

Relied on, and checked by `install()` and a contract test: `parser.get_devices(filename, bundled)`
and `parser.get_device(name, device_dict, loader, resource_dict)`, both looked up in the module at
each call; `devices.Device` with `add_eom`, `write`, `read`, `error_response`, and `_query_eom` and
`_response_eom` once its `resource_name` is set.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyvisa_sim import parser
from pyvisa_sim.devices import Device, Devices

from sim_instruments import bench_file
from sim_instruments.model.instrument import Instrument
from sim_instruments.port import Port, Terminators
from sim_instruments.shared import SharedInstrument
from sim_instruments.witness import Witness, witness_from_environment

# A session reads byte by byte: what `read` gives for each value, before and at the end of a reply.
_WITHIN = [(bytes((value,)), False) for value in range(256)]
_LAST = [(bytes((value,)), True) for value in range(256)]

_original_get_device = parser.get_device
_original_get_devices = parser.get_devices


class ScpiDevice(Device):  # type: ignore[misc] # pyvisa-sim ships no types
    """An instrument of ours in the place of a pyvisa-sim device.

    Args:
        name: the device's name in the bench file.
        instrument: what executes the messages.
        witness: who writes them down, if anybody.
    """

    def __init__(self, name: str, instrument: Instrument, witness: Witness | None) -> None:
        super().__init__(name, b";")
        self._instrument = instrument
        self._witness = witness
        self._unread: list[tuple[bytes, bool]] = []

    @cached_property
    def port(self) -> Port:
        """The connection behind the device; it exists once the device has a resource name."""
        shared = SharedInstrument(self._instrument, self.resource_name, witness=self._witness)
        return Port(shared, Terminators(self._query_eom, self._response_eom), wire="sim")

    def write(self, data: bytes) -> None:
        """Take bytes from a session."""
        self.port.write(data)

    def read(self) -> tuple[bytes, bool]:
        """Give a session one byte and whether it is the last of a reply; no byte when none is due.

        A session sleeps 10 ms when it gets none. So a reply that is due after 2 ms is read after
        10 ms, through PyVISA.
        """
        if self._unread:
            return self._unread.pop()
        reply = self.port.take()
        if reply is None or not reply.payload:
            return b"", False
        self._unread = [_WITHIN[value] for value in reversed(reply.payload)]
        self._unread[0] = _LAST[reply.payload[-1]]
        return self._unread.pop()


class PlainDevice:
    """A device of pyvisa-sim's own as the wires need it; see `sim_instruments.device.Device`.

    It has no error queue of the usual kind and no output that could be told, and takes no time.

    Args:
        name: the device's name in the bench file.
        device_dict: its mapping there.
        resource_dict: that of its resource.
        address: canonical resource name.

    Raises:
        ValueError: in one line, what pyvisa-sim has against it.
    """

    client_limit = None

    def __init__(
        self, name: str, device_dict: dict[str, Any], resource_dict: dict[str, Any], address: str
    ) -> None:
        try:
            # The loader would be asked for `bases` only, which pyvisa-sim does not support yet.
            self._device = _original_get_device(name, device_dict, None, resource_dict)
            self._device.resource_name = address
        except Exception as error:  # noqa: BLE001 - pyvisa-sim raises whatever it stumbles over
            reason = str(error).strip().splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(f"device {name!r}: {reason}") from None

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> PlainResponse:
        """Have a message answered, as soon as it is there."""
        del reply_waiting, now_s
        try:
            self._device.write(message + self._device._query_eom)
        except UnicodeDecodeError:
            refusal = self._device.error_response("command_error")
            return PlainResponse(refusal.decode() if isinstance(refusal, bytes) else None)
        replies = bytearray()
        while byte := self._device.read()[0]:
            replies += byte
        if not replies:
            return PlainResponse(None)
        text = bytes(replies).removesuffix(self._device._response_eom)
        return PlainResponse(text.decode())

    def overrun(self) -> None:
        """Tell the device's own error queue."""
        self._device.error_response("command_error")

    def interrupted(self) -> None:
        """Tell the device's own error queue."""
        self._device.error_response("query_error")

    def unterminated(self) -> None:
        """Tell the device's own error queue."""
        self._device.error_response("query_error")

    def device_clear(self) -> None:
        """There is nothing to clear: a message is executed as it comes."""

    def status_byte(self, reply_waiting: bool) -> int:
        """Only whether a reply waits (bit 4)."""
        return reply_waiting << 4

    def output(self) -> dict[str, bool]:
        """Not told: a plain device has properties, and none of them is known as an output."""
        return {}

    def set_trait(self, name: str, value: object) -> None:
        """Refuse: it has none."""
        raise ValueError(f"a device without a 'scpi' key has no trait {name!r} to set to {value!r}")


@dataclass(frozen=True, slots=True)
class PlainResponse:
    """See `sim_instruments.device.Response`."""

    reply: str | None
    takes_s: float = 0.0
    lost: bool = False


def install() -> None:
    """See `sim_instruments.install`."""
    if parser.get_device is _get_device:
        return
    breaches = contract_breaches()
    if breaches:
        raise RuntimeError(f"this version of pyvisa-sim is not supported: {'; '.join(breaches)}")
    parser.get_device = _get_device
    parser.get_devices = _get_devices


def _get_devices(filename: str, bundled: bool) -> Devices:
    """Build the devices of a bench file: ours where it has a `scpi` key, else pyvisa-sim's.

    Raises:
        ValueError: a file with devices of ours has a mistake.
    """
    if not bundled and bench_file.has_our_devices(filename):
        bench_file.resources(filename)
    return _original_get_devices(filename, bundled)


def contract_breaches() -> list[str]:
    """Say which of the private names relied on are missing or changed, one phrase each."""
    expected = {
        _original_get_device: ["name", "device_dict", "loader", "resource_dict"],
        _original_get_devices: ["filename", "bundled"],
        Device.__init__: ["self", "name", "delimiter"],
        Device.add_eom: ["self", "type_class", "query_termination", "response_termination"],
        Device.write: ["self", "data"],
        Device.read: ["self"],
        Device.error_response: ["self", "error_key"],
    }
    breaches = [
        f"{function.__qualname__} takes {actual} instead of {arguments}"
        for function, arguments in expected.items()
        if (actual := list(inspect.signature(function).parameters)) != arguments
    ]
    breaches += [
        f"Device has no {attribute}"
        for attribute in ("_query_eom", "_response_eom", "resource_name")
        if not hasattr(Device("probe", b";"), attribute)
    ]
    return breaches


def _get_device(
    name: str, device_dict: dict[str, Any], loader: object, resource_dict: dict[str, Any]
) -> Device:
    instrument = bench_file.build_if_ours(name, device_dict)
    if instrument is None:
        return _original_get_device(name, device_dict, loader, resource_dict)
    device = ScpiDevice(name, instrument, witness_from_environment())
    for interface, eom in device_dict.get("eom", {}).items():
        device.add_eom(interface, eom["q"], eom["r"])
    return device

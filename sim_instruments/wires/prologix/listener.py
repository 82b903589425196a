"""The listener of the Prologix wire: all instruments with a GPIB address behind one port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sim_instruments.port import Port
from sim_instruments.wires.listener import HOST, TcpListener
from sim_instruments.wires.place import Place
from sim_instruments.wires.prologix.addresses import Address, parse_resource
from sim_instruments.wires.prologix.bus import Bus
from sim_instruments.wires.prologix.controller import Controller
from sim_instruments.wires.prologix.lines import LineReader
from sim_instruments.wires.queued_stream import QueuedStream

WIRE = "prologix"


class Host(QueuedStream):
    """A host's connection to a controller of its own.

    Args:
        places: the instruments by address.
    """

    def __init__(self, places: Mapping[Address, Place]) -> None:
        super().__init__(list(places.values()))
        self._lines = LineReader()
        self._controller = Controller(Bus(places, self._open_port), self.push, self.resume)

    def execute(self, chunk: bytes) -> Iterator[None]:
        """Obey one line after the other."""
        for line in self._lines.feed(chunk):
            self._controller.obey(line)
            yield

    def is_blocked(self) -> bool:
        """Whether a read is under way, as the controller does one thing at a time."""
        return self._controller.is_reading

    def finished(self) -> None:
        """Let go of the instruments."""
        self._controller.close()
        self.close()

    def lost(self) -> None:
        """Let go of the instruments."""
        self._controller.close()

    def _open_port(self, place: Place) -> Port:
        return place.open_port(WIRE, self.client, self, interface="GPIB INSTR", keeps_unread=False)


class PrologixListener:
    """See `sim_instruments.wires.listener.Listener`."""

    def __init__(self) -> None:
        self.resource_names: dict[str, str] = {}
        self.interface: str | None = None
        self._tcp = TcpListener()

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Begin to listen. Instruments without a GPIB address are not on this wire."""
        board, bus = _on_one_board(places)
        bound = await self._tcp.listen(lambda: Host(bus), port)
        self.interface = f"PRLGX-TCPIP{board}::{HOST}::{bound}::INTFC"
        for address, place in bus.items():
            self.resource_names[place.name] = f"GPIB{board}::{address.resource_part}::INSTR"

    async def stop(self) -> None:
        """Take no further host."""
        await self._tcp.close()


def _on_one_board(places: Sequence[Place]) -> tuple[int, dict[Address, Place]]:
    boards: dict[int, dict[Address, Place]] = {}
    for place in places:
        found = parse_resource(place.address)
        if found is not None:
            board, address = found
            boards.setdefault(board, {})[address] = place
    if not boards:
        raise ValueError("prologix: no instrument has an address such as GPIB0::5::INSTR")
    if len(boards) > 1:
        names = ", ".join(f"GPIB{board}" for board in sorted(boards))
        raise ValueError(f"prologix: one adapter is one board, not {names}")
    return boards.popitem()

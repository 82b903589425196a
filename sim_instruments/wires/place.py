"""What a wire's listener gets for one instrument: its name, its clients, and what befalls them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, get_args

from sim_instruments.faults import Effect, FaultPlan, Happening, Kind, Lasting, Rule
from sim_instruments.port import Port, Terminators
from sim_instruments.shared import SharedInstrument
from sim_instruments.wires.instrument_lock import InstrumentLock

_NETWORK = ["socket", "hislip", "vxi11", "prologix"]
_WIRES_NEEDED: dict[Kind, list[str]] = {
    "drop": _NETWORK,
    "reset": _NETWORK,
    "unplug": ["serial"],
    "sticky_lock": ["hislip", "vxi11"],
}


class Refused(Exception):  # noqa: N818 - said of the client
    """The instrument takes no further client."""


class Connection(Protocol):
    """A client's connection as far as faults strike it; `Stream` is one."""

    def drop(self) -> bool:
        """End it in good order (FIN); return whether there was anything to end."""

    def reset(self) -> bool:
        """End it at once (RST); return whether there was anything to end."""

    def close(self) -> None:
        """End it as the server ends."""

    def reconsider(self) -> None:
        """Look anew at `frozen` and `stalled` of the places it leads to."""

    @property
    def is_client(self) -> bool:
        """Whether there is certainly somebody at the other end."""


class Pluggable(Protocol):
    """A cable that can be pulled out and put back."""

    def unplug(self) -> None:
        """Pull it out."""

    def replug(self) -> None:
        """Put it back."""


class Place:
    """One instrument on the wires.

    Args:
        name: what people call it, as in `smu`.
        address: canonical resource name in the bench file; a Prologix adapter takes the GPIB
            address from it.
        instrument: the instrument, shared by all its clients on all wires.
        terminators: by PyVISA's interface and class, `TCPIP SOCKET`; line feeds where not given.
        faults: what goes wrong with which message.
    """

    def __init__(
        self,
        name: str,
        address: str,
        instrument: SharedInstrument,
        terminators: Mapping[str, Terminators],
        faults: FaultPlan,
    ) -> None:
        self.name = name
        self.address = address
        self.instrument = instrument
        self.faults = faults
        self.lock = InstrumentLock()
        """Held by clients of those wires that have locks."""
        self.frozen = False
        """Whether nothing is read from its clients, and nothing sent to them."""
        self.stalled = False
        """Whether nothing is sent to its clients; what they send is executed."""
        self.wires: set[str] = set()
        """The names of the wires that it is on."""
        self.cables: list[Pluggable] = []
        """Those that `unplug` pulls out."""
        self._terminators = terminators
        self._connections: list[Connection] = []
        self._ports: list[Port] = []
        self._counted: list[Port] = []
        self._ends: dict[Lasting, asyncio.TimerHandle] = {}

    @property
    def clients(self) -> int:
        """How many clients it serves, of those that it takes a number of."""
        return len(self._counted)

    @property
    def has_clients(self) -> bool:
        """Whether somebody is connected, as far as can be told."""
        return any(connection.is_client for connection in self._connections)

    def terminators(self, interface: str) -> Terminators:
        """Give the terminators on one of PyVISA's interfaces, `TCPIP INSTR` for example."""
        return self._terminators.get(interface, Terminators())

    def open_port(
        self,
        wire: str,
        client: str,
        connection: Connection | None,
        *,
        interface: str,
        keeps_unread: bool,
        limited: bool = True,
    ) -> Port:
        """Let a client in. Whoever opens the port closes it.

        Args:
            wire: the name of the wire, for the witness.
            client: who it is, for the witness; `HOST:PORT` on TCP.
            connection: what `drop` and `reset` strike when a message of this client brings them
                about; `None` where there is nothing to strike.
            interface: whose terminators hold, `TCPIP SOCKET` for example.
            keeps_unread: see `Port`.
            limited: whether it is one of the clients that the instrument takes at a time.

        Raises:
            Refused: it has as many clients as it takes.
        """
        limit = self.instrument.device.client_limit
        if limited and limit is not None and self.clients >= limit:
            raise Refused(f"{self.name} takes {limit} client{'s' * (limit != 1)} at a time")
        port = Port(
            self.instrument,
            self.terminators(interface),
            keeps_unread=keeps_unread,
            wire=wire,
            client=client,
            faults=self.faults,
            befall=lambda effect: self._befall(effect, connection),
            is_held=lambda: self.frozen,
            closed=self._leave,
        )
        self._ports.append(port)
        if limited:
            self._counted.append(port)
        return port

    def attach(self, connection: Connection) -> None:
        """Let faults strike a connection from now on."""
        self._connections.append(connection)

    def detach(self, connection: Connection) -> None:
        """Let go of a connection that has ended."""
        self._connections.remove(connection)

    def add_fault(self, rule: Rule) -> None:
        """Put a fault in force.

        Raises:
            ValueError: it could never strike on the wires that this instrument is on.
        """
        self._check_wires(rule.kind)
        self.faults.add(rule)

    def happen(self, happening: Happening, seconds: float | None = None) -> int:
        """Let something befall the instrument and all who are connected, at once.

        Args:
            happening: what.
            seconds: until it is over, `None` for until `lift`; `drop` and `reset` are momentary.

        Returns:
            How many connections `drop` or `reset` ended; 0 for the others.

        Raises:
            ValueError: it cannot befall anybody on the wires that this instrument is on.
        """
        self._check_wires(happening)
        if happening == "drop" or happening == "reset":  # noqa: PLR1714 - mypy narrows by this form
            return sum(_end(connection, happening) for connection in list(self._connections))
        self._set(happening, True)
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._ends[happening] = loop.call_later(seconds, self._set, happening, False)
        return 0

    def lift(self, happening: Lasting | None = None) -> None:
        """End a stall or a freeze, or put every cable back; all of these when not told which."""
        for each in get_args(Lasting) if happening is None else [happening]:
            self._set(each, False)

    def end(self) -> None:
        """End every connection, as the server ends."""
        for connection in list(self._connections):
            connection.close()

    def _leave(self, port: Port) -> None:
        self._ports.remove(port)
        if port in self._counted:
            self._counted.remove(port)

    def _befall(self, effect: Effect, connection: Connection | None) -> None:
        for happening, seconds in effect.happenings:
            if happening not in ("drop", "reset"):
                self.happen(happening, seconds)
            elif connection is not None:
                _end(connection, happening)

    def _check_wires(self, kind: Kind) -> None:
        needed = _WIRES_NEEDED.get(kind)
        if needed is not None and self.wires.isdisjoint(needed):
            raise ValueError(f"{kind} needs {self.name} on one of the wires: {', '.join(needed)}")

    def _set(self, happening: Lasting, on: bool) -> None:
        end = self._ends.pop(happening, None)
        if end is not None:
            end.cancel()
        if happening == "unplug":
            for cable in self.cables:
                cable.unplug() if on else cable.replug()
            return
        if happening == "frozen":
            self.frozen = on
        else:
            self.stalled = on
        for port in [] if on else list(self._ports):
            port.run()
        for connection in list(self._connections):
            connection.reconsider()


def _end(connection: Connection, happening: Happening) -> bool:
    return connection.drop() if happening == "drop" else connection.reset()

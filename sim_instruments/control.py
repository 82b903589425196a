"""Controlling a served bench from a test: faults on demand, and the witness as it is written.

Nothing but the standard library is needed, and nothing of it is asyncio's.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from sim_instruments.witness import WitnessEntry, entry_from_json

HOST = "127.0.0.1"
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class State:
    """How an instrument is, told without asking it anything.

    Attributes:
        output: whether each output is on, by channel name; empty without outputs.
        clients: how many clients it serves; a serial line is not counted.
        frozen: whether it is frozen.
        stalled: whether it is stalled.
        faults: the rules that may strike yet, as they were given to `Control.fault`.
    """

    output: Mapping[str, bool]
    clients: int
    frozen: bool
    stalled: bool
    faults: list[dict[str, Any]]


class Control:
    """A connection to the control socket. Use it as a context manager, or `close` it.

    Every method raises `ValueError` when the server refuses what was asked, in the server's words,
    and `ConnectionError` when the server has gone.

    Args:
        port: the `control` of the server's announcement.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._lines = _Lines(port)

    def fault(
        self,
        instrument: str,
        kind: str,
        *,
        pattern: str = "",
        skip: int = 0,
        count: int | None = None,
        rate: float = 1.0,
        seconds: float | None = None,
        size: int = 4,
        data: str = "",
    ) -> None:
        """Have a fault strike messages from now on, beside those in force.

        Args:
            instrument: its name, as in `smu`.
            kind: `delay`, `trickle`, `fragment`, `garbage`, `no_reply`, `stall`, `frozen`, `drop`,
                `reset`, `unplug` or `sticky_lock`.
            pattern: regular expression looked for in the program message, in either case.
            skip: how many matching messages pass unharmed first.
            count: how many it strikes then, `None` for all.
            rate: with which probability it strikes each of them, above 0 and at most 1.
            seconds: how long a reply is delayed, the time between two pieces of it, or until a
                stall, a freeze or an unplugged cable is over; `None` for the kind's own default.
            size: bytes in a piece of a fragmented reply.
            data: bytes of garbage in hexadecimal digits; drawn at random when empty.
        """
        rule = {
            "kind": kind,
            "pattern": pattern,
            "skip": skip,
            "count": count,
            "rate": rate,
            "seconds": seconds,
            "size": size,
            "data": data,
        }
        self._ask("fault", instrument=instrument, rule=rule)

    def happen(self, instrument: str, what: str, *, seconds: float | None = None) -> int:
        """Let something befall an instrument and all its clients, at once.

        Args:
            instrument: its name.
            what: `stall`, `frozen`, `drop`, `reset` or `unplug`.
            seconds: until it is over, `None` for until `lift`.

        Returns:
            How many connections `drop` or `reset` ended.
        """
        ended = self._ask("happen", instrument=instrument, what=what, seconds=seconds)
        return int(ended)

    def lift(self, instrument: str | None = None, what: str | None = None) -> None:
        """End what `happen` began.

        Args:
            instrument: its name, `None` for all of them.
            what: `stall`, `frozen` or `unplug`; `None` for all of these and every fault in force.
        """
        self._ask("lift", instrument=instrument, what=what)

    def seed(self, seed: int) -> None:
        """Begin chance anew, as the server's `--seed` does."""
        self._ask("seed", seed=seed)

    def trait(self, instrument: str, name: str, value: object) -> None:
        """Change a trait of an instrument."""
        self._ask("trait", instrument=instrument, name=name, value=value)

    def state(self, instrument: str) -> State:
        """Tell how an instrument is, without asking it anything."""
        return State(**self._ask("state", instrument=instrument))

    def watch(self) -> WitnessStream:
        """Watch the witness from now on."""
        lines = _Lines(self.port)
        try:
            _result(lines, "watch", {})
        except BaseException:
            lines.close()
            raise
        return WitnessStream(lines)

    def stop(self) -> None:
        """End the server."""
        self._ask("stop")

    def close(self) -> None:
        """Let go of the server, which ends by itself when nobody else is connected."""
        self._lines.close()

    def __enter__(self) -> Control:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, do: str, **what: object) -> Any:
        return _result(self._lines, do, what)


class WitnessStream:
    """The witness as it is written; got from `Control.watch`. Close it, or use it in a `with`."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines

    def next(self, *, timeout_s: float = TIMEOUT_S) -> WitnessEntry:
        """Wait for the next entry.

        Raises:
            TimeoutError: there was none in `timeout_s`.
            ConnectionError: the server has gone, or this stream was not read for too long.
        """
        return entry_from_json(self._lines.read(timeout_s))

    def wait_for(
        self, holds: Callable[[WitnessEntry], bool], *, timeout_s: float = TIMEOUT_S
    ) -> WitnessEntry:
        """Wait for an entry of which something holds; those before it are passed over.

        Raises:
            TimeoutError: there was none in `timeout_s`.
            ConnectionError: the server has gone, or this stream was not read for too long.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            entry = self.next(timeout_s=max(deadline_s - time.monotonic(), 0.0))
            if holds(entry):
                return entry

    def close(self) -> None:
        """Stop watching."""
        self._lines.close()

    def __enter__(self) -> WitnessStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Lines:
    """A TCP connection that carries lines."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection((HOST, port), TIMEOUT_S)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = bytearray()

    def write(self, line: bytes) -> None:
        self._connection.settimeout(TIMEOUT_S)
        self._connection.sendall(line + b"\n")

    def read(self, timeout_s: float) -> bytes:
        deadline_s = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            # Zero would mean "do not block", which raises another exception.
            self._connection.settimeout(max(deadline_s - time.monotonic(), 1e-6))
            try:
                chunk = self._connection.recv(65536)
            except TimeoutError:
                raise TimeoutError(f"nothing came in {timeout_s:g} s") from None
            if not chunk:
                raise ConnectionError("the server has closed the control connection")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return bytes(line)

    def close(self) -> None:
        self._connection.close()


def _result(lines: _Lines, do: str, what: Mapping[str, object]) -> Any:
    lines.write(json.dumps({"do": do, **what}).encode())
    answer = json.loads(lines.read(TIMEOUT_S))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["result"]

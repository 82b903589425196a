"""The witness: a file that says, from outside the process, what each instrument executed."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

WITNESS_VARIABLE = "SIM_INSTRUMENTS_WITNESS"
"""Environment variable that names the file. It is read when a bench is opened."""


@dataclass(frozen=True, slots=True)
class WitnessEntry:
    """One executed message.

    Attributes:
        t: `time.monotonic()` in seconds, comparable between the processes of one machine.
        instrument: canonical resource name.
        message: the program message without its terminator.
        reply: the response message without its terminator, `None` when there was none.
        output: whether each output was on after the message; empty without outputs.
        wire: what it came over: `sim` for PyVISA's simulation, `socket`, `serial`, ....
        client: who sent it, as far as the wire can tell.
        lost: whether the instrument threw it away instead of executing it.
    """

    t: float
    instrument: str
    message: str
    reply: str | None
    output: Mapping[str, bool]
    wire: str = ""
    client: str = ""
    lost: bool = False


class Witness:
    """Enters what instruments execute, into a file and for listeners.

    Each entry is one `write` to a descriptor in append mode, so that entries of several processes
    never mix and none is lost in a buffer when the process is killed.

    Args:
        path: the file, created when it does not exist; `None` for listeners only.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.listeners: list[Callable[[bytes], object]] = []
        """Each is called with every entry, as one line of JSON with its line feed."""
        # Three times as fast as the standard library's, and every reply waits for its entry.
        from msgspec.json import encode  # noqa: PLC0415 - reading a witness needs no msgspec

        self._encode = encode
        self._descriptor: int | None = None
        if path is not None:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            weakref.finalize(self, os.close, self._descriptor)

    def record(
        self,
        instrument: str,
        message: str,
        reply: str | None,
        output: Mapping[str, bool],
        *,
        wire: str = "",
        client: str = "",
        lost: bool = False,
    ) -> None:
        """Append one entry, with the present time."""
        if self._descriptor is None and not self.listeners:
            return
        entry = {
            "t": time.monotonic(),
            "instrument": instrument,
            "message": message,
            "reply": reply,
            "output": output,
            "wire": wire,
            "client": client,
            "lost": lost,
        }
        line = self._encode(entry) + b"\n"
        if self._descriptor is not None:
            os.write(self._descriptor, line)
        for listener in self.listeners:
            listener(line)


def witness_from_environment() -> Witness | None:
    """Give a witness for the file that `SIM_INSTRUMENTS_WITNESS` names, `None` without it."""
    path = os.environ.get(WITNESS_VARIABLE)
    return Witness(path) if path else None


def entry_from_json(line: str | bytes) -> WitnessEntry:
    """Read one entry.

    Raises:
        ValueError: it is not JSON.
    """
    return WitnessEntry(**json.loads(line))


def read_witness(path: str | Path) -> list[WitnessEntry]:
    """Read every entry of a witness file, in the order of execution.

    The last one is left out while its line is being written.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not JSON.
    """
    *lines, _unfinished = Path(path).read_bytes().split(b"\n")
    return [entry_from_json(line) for line in lines]

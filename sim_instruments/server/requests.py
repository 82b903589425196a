"""What may be asked for on the control socket, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sim_instruments.faults import Happening, Lasting, Rule
from sim_instruments.wires.place import Place


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="fault"):
    """Put a fault in force."""

    instrument: str
    rule: Rule

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        bench.place(self.instrument).add_fault(self.rule)


class Happen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="happen"):
    """Let something befall an instrument at once; says how many connections it ended."""

    instrument: str
    what: Happening
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Check what types alone do not say."""
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise ValueError(f"seconds must be 0 or more, not {self.seconds}")

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        return bench.place(self.instrument).happen(self.what, self.seconds)


class Lift(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="lift"):
    """End what befell an instrument, or all of them; everything and its faults if not told what."""

    instrument: str | None = None
    what: Lasting | None = None

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        names = bench.places if self.instrument is None else [self.instrument]
        for name in names:
            place = bench.place(name)
            if self.what is None:
                place.faults.clear()
            place.lift(self.what)


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="seed"):
    """Begin chance anew, as `--seed` does."""

    seed: int

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        for name, place in bench.places.items():
            place.faults.seed(f"{self.seed} {name}")


class Trait(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="trait"):
    """Change a trait of an instrument."""

    instrument: str
    name: str
    value: Any

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        bench.place(self.instrument).instrument.device.set_trait(self.name, self.value)


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="state"):
    """Tell how an instrument is, without asking it anything."""

    instrument: str

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        place = bench.place(self.instrument)
        return {
            "output": place.instrument.device.output(),
            "clients": place.clients,
            "frozen": place.frozen,
            "stalled": place.stalled,
            "faults": [msgspec.to_builtins(rule) for rule in place.faults.rules],
        }


class Watch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="watch"):
    """Send every entry of the witness from now on, on this connection."""


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="stop"):
    """End the server."""

    def carry_out(self, bench: Bench) -> Any:
        """Do it."""
        bench.stop()


Request = Fault | Happen | Lift | Seed | Trait | State | Watch | Stop


class Bench:
    """What requests act on.

    Args:
        places: the instruments by name.
        stop: ends the server.
    """

    def __init__(self, places: Mapping[str, Place], stop: Callable[[], object]) -> None:
        self.places = places
        self.stop = stop

    def place(self, name: str) -> Place:
        """Find an instrument.

        Raises:
            ValueError: there is none of this name.
        """
        if name not in self.places:
            raise ValueError(f"no instrument {name!r}, only {', '.join(self.places)}")
        return self.places[name]


_DECODER = msgspec.json.Decoder(Request)


def request_from(line: bytes) -> Request:
    """Read one line of the control socket.

    Raises:
        ValueError: in one line, what is wrong with it.
    """
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None

"""What the command line says."""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_instruments.entry import BENCH_YAML
from sim_instruments.wires.registry import WIRES
from sim_instruments.witness import WITNESS_VARIABLE

IDLE_S = 300.0


@dataclass(frozen=True, slots=True)
class Options:
    """What to serve, and how.

    Attributes:
        files: bench files.
        wires: name of each wire to its first port, 0 for any ports that are free.
        control_port: port of the control socket, 0 for any that is free.
        bench_file: where to write a bench file for pytest-safetyq.
        witness: where to write the witness.
        idle_s: seconds without a client after which it ends by itself, 0 for never.
        seed: where chance begins.
    """

    files: list[Path]
    wires: dict[str, int]
    control_port: int
    bench_file: Path | None
    witness: Path | None
    idle_s: float
    seed: int


def options_from(arguments: Sequence[str] | None) -> Options:
    """Read the command line; a mistake in it ends the process with a usage message."""
    parser = _parser()
    given = parser.parse_args(arguments)
    wires = dict(given.wire or [("socket", 0)])
    if len(wires) < len(given.wire or []):
        parser.error("a wire can be asked for once only")
    return Options(
        files=given.files or [BENCH_YAML],
        wires=wires,
        control_port=given.control_port,
        bench_file=given.write_bench,
        witness=given.witness,
        idle_s=given.idle,
        seed=secrets.randbits(32) if given.seed is None else given.seed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sim_instruments",
        description="Serve simulated instruments on real wires, on 127.0.0.1 only. One line of "
        "JSON on the standard output says where.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE.yaml",
        help="bench files in pyvisa-sim's format (default: the bundled bench)",
    )
    parser.add_argument(
        "--wire",
        action="append",
        type=_wire,
        metavar="NAME[:PORT]",
        help=f"a wire for every instrument: {', '.join(WIRES)} (default: socket); repeatable. "
        "With a port the first instrument is on it, and each further one on the next",
    )
    parser.add_argument(
        "--control-port", type=_port, default=0, metavar="PORT", help="of the control socket"
    )
    parser.add_argument(
        "--write-bench", type=Path, metavar="FILE", help="write a bench file for pytest-safetyq"
    )
    parser.add_argument(
        "--witness",
        type=Path,
        metavar="FILE",
        default=os.environ.get(WITNESS_VARIABLE) or None,
        help=f"append what is executed to a file (default: {WITNESS_VARIABLE} names it)",
    )
    parser.add_argument(
        "--idle",
        type=_seconds,
        default=IDLE_S,
        metavar="SECONDS",
        help=f"end when nobody was connected for so long, 0 for never (default: {IDLE_S:.0f})",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="makes faults at random repeatable")
    return parser


def _wire(text: str) -> tuple[str, int]:
    name, colon, port = text.partition(":")
    if name not in WIRES:
        raise argparse.ArgumentTypeError(f"no wire {name!r}, only {', '.join(WIRES)}")
    if colon and not WIRES[name].has_port:
        raise argparse.ArgumentTypeError(f"{name} has no port")
    return name, _port(port) if colon else 0


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"not a port from 0 to 65535: {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return seconds

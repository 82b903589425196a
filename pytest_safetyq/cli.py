"""The ``safetyq`` command."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_safetyq.bench.commands import Verdict, check_lines, estop_lines, list_lines
from pytest_safetyq.bench.profiles import profile_names, shipped_profile
from pytest_safetyq.bench.selection import Wish, select
from pytest_safetyq.errors import SafetyError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0 only if all is well."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["serve"]:
        return _serve(given[1:])
    options = _parser().parse_args(given)
    try:
        return int(options.run(options))
    except SafetyError as error:
        print(f"safetyq: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="safetyq", description="Lab instruments and their safe state, without a test run."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("list", _list, "list the resources that are found"),
        ("check", _check, "open each instrument, identify it, prove its E-stop once"),
        ("estop", _estop, "drive everything off, also while a test run holds the instruments"),
        ("models", _models, "list the model profiles that ship"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        if name in ("check", "estop"):
            _add_selection(command)
        if name in ("list", "check", "estop"):
            command.add_argument("--visa", metavar="LIBRARY", help="the VISA library, as PyVISA's")
    # Its options are the server's, and reach it unread.
    commands.add_parser("serve", help="serve simulated instruments on real wires")
    return parser


def _add_selection(command: argparse.ArgumentParser) -> None:
    command.add_argument("--bench", metavar="FILE", help="the bench file")
    command.add_argument(
        "--instrument",
        metavar="[NAME=]RESOURCE",
        action="append",
        default=[],
        help="a resource name or a name in the bench file; repeatable",
    )
    command.add_argument("--model", metavar="MODEL", help="the profile of a bare --instrument")


def _list(options: argparse.Namespace) -> int:
    for line in list_lines(options.visa or os.environ.get("PYVISA_LIBRARY", "")):
        print(line, flush=True)
    return 0


def _check(options: argparse.Namespace) -> int:
    selection = select(_wish(options))
    names = selection.named or tuple(selection.specs)
    return _print(check_lines([selection.specs[name] for name in names]))


def _estop(options: argparse.Namespace) -> int:
    wish = _wish(options)
    specs = select(wish).specs.values() if wish.bench or wish.instruments else ()
    return _print(estop_lines(list(specs)))


def _models(options: argparse.Namespace) -> int:
    del options  # there is nothing to choose
    for name in profile_names():
        profile = shipped_profile(name)
        off = "; ".join(step.send for step in profile.off) or "nothing to switch off"
        queries = "; ".join(confirm.query for confirm in profile.confirms)
        print(f"{name}: {off}" + (f", confirmed by {queries}" if queries else ""))
    return 0


def _serve(arguments: list[str]) -> int:
    """Become the server: signals, output and exit status are its own.

    The simulation and the runtime don't import each other, so it is started as a program.
    """
    command = [sys.executable, "-m", "sim_instruments", *arguments]
    if os.name == "posix":
        os.execv(sys.executable, command)
    # Elsewhere exec returns to the shell at once. Ctrl-C reaches both: the server's answer counts.
    with subprocess.Popen(command) as server:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return server.wait()


def _wish(options: argparse.Namespace) -> Wish:
    """Return what the user has named, on the command line or else in the environment."""
    bench = options.bench or os.environ.get("SAFETYQ_BENCH")
    return Wish(
        instruments=options.instrument or os.environ.get("SAFETYQ_INSTRUMENT", "").split(),
        bench=Path(bench) if bench else None,
        visa=options.visa,
        default_visa=os.environ.get("PYVISA_LIBRARY") or None,
        model=options.model,
    )


def _print(verdicts: Iterable[Verdict]) -> int:
    """Print the lines; return 0 if all of them are good, else 1."""
    all_good = True
    for line, good in verdicts:
        print(line, flush=True)
        all_good = all_good and good
    return 0 if all_good else 1

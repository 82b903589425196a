"""``python -m benchmarks [NAME ...]``, which is ``make bench``: run all, or those named.

Figures are printed and never asserted: the machine may be busy with something else. The
exit status is 1 only if a benchmark itself fails.
"""

import argparse
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence

from benchmarks import dispatcher, interrupt, latency, opening, plugin, scheduler, under_load, wires
from benchmarks.figures import Figure, table

BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "scheduler": scheduler.run,
    "dispatcher": dispatcher.run,
    "latency": latency.run,
    "plugin": plugin.run,
    "opening": opening.run,
    "under_load": under_load.run,
    "interrupt": interrupt.run,
    "wires": wires.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return 0 unless one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names: list[str] = parser.parse_args(arguments).names or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}, only {', '.join(BENCHMARKS)}")
    print(machine(), flush=True)
    failed = [name for name in names if not report(name)]
    return 1 if failed else 0


def machine() -> str:
    """Return a line about what the figures were measured on."""
    line = f"{platform.python_implementation()} {platform.python_version()}, {sys.platform}"
    line += f", {os.cpu_count()} cores"
    if hasattr(os, "getloadavg"):
        line += ", load average {:.2f} {:.2f} {:.2f}".format(*os.getloadavg())
    return line


def report(name: str) -> bool:
    """Run one benchmark and print its table; return whether it could be run."""
    begun_s = time.perf_counter()
    try:
        figures = BENCHMARKS[name]()
    except Exception:  # noqa: BLE001 - the others are run all the same
        traceback.print_exc()
        figures = []
    took_s = time.perf_counter() - begun_s
    print(f"\n== {name} ({took_s:.1f} s)\n{table(figures) if figures else 'FAILED'}", flush=True)
    return bool(figures)


if __name__ == "__main__":
    sys.exit(main())

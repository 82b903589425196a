"""``python -m examples``, which is ``make demo``: the examples, and what failures leave behind.

What is claimed about the output is read from the witness, the simulated instrument's own
log, and not taken from the plugin.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sim_instruments import WITNESS_VARIABLE, WitnessEntry, read_witness

HERE = Path(__file__).parent
PURPOSE = "examples/failing_on_purpose.py"
WITNESS_TIMEOUT_S = 10.0


def main() -> int:
    """Run everything; return 0 only if all of it went as it should."""
    print("== The examples, on the simulated bench", flush=True)
    good = run("pytest", "examples").returncode == 0
    print("\n== The dispatcher in a program without pytest", flush=True)
    good &= run("examples.dispatcher_without_pytest").returncode == 0
    print("\n== A test run that is killed, seen from the instrument", flush=True)
    good &= run("examples.killed_client").returncode == 0
    print("\n== Tests that fail on purpose: what do they leave on?", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        good &= failures_leave_it_off(Path(directory) / "failures.jsonl")
        good &= killing_leaves_it_off(Path(directory) / "killed.jsonl")
    print(f"\n{'All as it should be.' if good else 'Something is NOT as it should be.'}")
    return 0 if good else 1


def failures_leave_it_off(witness: Path) -> bool:
    """Run the failing tests; whatever they switched on must go off, and soon."""
    ended = run("pytest", PURPOSE, "--tb=no", witness=witness)
    times_on_s = spans_on(read_witness(witness))
    for number, on_s in enumerate(times_on_s, 1):
        print(f"   failure {number}: the output was on for {on_s * 1000:.1f} ms")
    good = check("4 tests failed (exit status 1)", ended.returncode == 1)
    good &= check("4 times the output was on, and went off", len(times_on_s) == 4)
    good &= check("a teardown of 3 s did not delay it", max(times_on_s, default=9e9) < 2.0)
    return good & check("off was read back", read_back_off(witness))


def killing_leaves_it_off(witness: Path) -> bool:
    """Kill the test process while the output is on; the supervisor must see to it."""
    environment = {"SAFETYQ_DEMO_KILL": "1"}
    ended = run("pytest", PURPOSE, "-k", "killed", witness=witness, environment=environment)
    good = check(
        f"the test process was killed (exit status {ended.returncode})", ended.returncode != 0
    )
    deadline = time.monotonic() + WITNESS_TIMEOUT_S
    while not read_back_off(witness) and time.monotonic() < deadline:
        time.sleep(0.02)
    return good & check("the output went off, and off was read back", read_back_off(witness))


def spans_on(entries: list[WitnessEntry]) -> list[float]:
    """Return for each time that the SMU's output was on, for how long, in seconds."""
    spans: list[float] = []
    since: float | None = None
    for entry in entries:
        is_on = any(entry.output.values())
        if is_on and since is None:
            since = entry.t
        elif not is_on and since is not None:
            spans.append(entry.t - since)
            since = None
    return spans if since is None else [*spans, float("inf")]


def read_back_off(witness: Path) -> bool:
    """Whether the last thing that the SMU was asked is whether it is off, and it was."""
    last = read_witness(witness)[-1]
    return last.message.upper().startswith(":OUTP?") and last.reply == "0"


def run(
    module: str,
    *arguments: str,
    witness: Path | None = None,
    environment: dict[str, str] | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a module in a process of its own."""
    settings = {**os.environ, **(environment or {})}
    if witness is not None:
        settings[WITNESS_VARIABLE] = str(witness)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=HERE.parent, env=settings, check=False)


def check(what: str, holds: bool) -> bool:
    """Say whether ``what`` holds, and return it."""
    print(f"   {'ok  ' if holds else 'FAIL'} {what}", flush=True)
    return holds


if __name__ == "__main__":
    sys.exit(main())

"""Kill a test run with ``kill -9`` while its SMU is on, and see from outside what became of it.

The SMU is simulated by a server, a process of its own that the test run reaches over TCP. So its
witness is not the plugin's word: it says what arrived at the instrument, and when.

Run it with ``python -m examples.killed_client``.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_safetyq import Instrument
from sim_instruments import WitnessEntry
from sim_instruments.sim_bench import SimBench

TIMEOUT_S = 20.0


def test_that_never_ends(instrument: Instrument) -> None:
    # The file's name keeps this out of ``pytest examples``; ``main`` runs it, and kills it.
    instrument.write(":SOUR:VOLT 5;:OUTP ON")
    time.sleep(TIMEOUT_S)
    pytest.fail("nobody killed this test")


def main() -> float:
    """Return the seconds from the kill to the moment at which the output was off."""
    with SimBench() as bench, bench.control.watch() as witness:
        command = [sys.executable, "-m", "pytest", __file__, f"--safetyq-bench={bench.bench_file}"]
        client = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL)
        try:
            witness.wait_for(is_on, timeout_s=TIMEOUT_S)
        finally:
            killed_s = time.monotonic()
            client.kill()
            client.wait()
        off = witness.wait_for(is_off, timeout_s=TIMEOUT_S)
        read_back = witness.wait_for(lambda entry: entry.reply == "0", timeout_s=TIMEOUT_S)
    print(f"the test run was killed (exit status {client.returncode}) with its SMU on;")
    print(f"{off.message!r} arrived {(off.t - killed_s) * 1000:.1f} ms later from {off.client},")
    print(f"and {read_back.message!r} was answered {read_back.reply!r}")
    return off.t - killed_s


def is_on(entry: WitnessEntry) -> bool:
    """Whether the SMU was on after a message."""
    return entry.instrument == "smu" and any(entry.output.values())


def is_off(entry: WitnessEntry) -> bool:
    """Whether the SMU was off after a message."""
    return entry.instrument == "smu" and not any(entry.output.values())


if __name__ == "__main__":
    main()

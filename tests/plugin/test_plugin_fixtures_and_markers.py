"""What the fixtures give and what the markers do, in runs of their own."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from projects import Suite, Witness


def test_without_a_word_the_bench_is_simulated_and_says_so(suite: Suite) -> None:
    suite.write(
        """
def test_it(instrument):
    assert instrument.name == "smu"
    assert instrument.resource_name == "GPIB0::5::INSTR"
    assert instrument.model == "keithley-2400"
    assert instrument.simulated
    assert not instrument.latched
"""
    )
    ended = suite.run()
    assert ended.returncode == 0, ended.stdout
    assert "safetyq: smu: GPIB0::5::INSTR SIMULATED keithley-2400" in ended.stdout


def test_the_header_says_real_of_a_named_resource(suite: Suite) -> None:
    suite.write("def test_it():\n    pass\n")
    ended = suite.run("--instrument=GPIB0::5")
    assert "safetyq: GPIB0::5::INSTR REAL" in ended.stdout
    assert "SIMULATED" not in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "ini", "name"),
    [
        (["--instrument=supply"], {"SAFETYQ_INSTRUMENT": "load"}, "dmm", "supply"),
        ([], {"SAFETYQ_INSTRUMENT": "load"}, "dmm", "load"),
        ([], {}, "dmm", "dmm"),
        (["--safetyq-instrument=GPIB0::8"], {}, "dmm", "load"),
        (["--instrument=dmm", "--instrument=load"], {}, "", "dmm"),
    ],
)
def test_command_line_over_environment_over_ini(
    suite: Suite, arguments: list[str], environment: dict[str, str], ini: str, name: str
) -> None:
    suite.environment.update(environment)
    suite.write(f"def test_it(instrument):\n    assert instrument.name == {name!r}\n")
    settings = ["-o", f"safetyq_instrument={ini}"] if ini else []
    ended = suite.run(*arguments, "--safetyq-visa=@sim", *settings)
    assert ended.returncode == 0, ended.stdout


def test_all_fixtures_work_side_by_side(suite: Suite) -> None:
    suite.write(
        """
import asyncio
import pytest
from pytest_safetyq import Priority

def test_blocking(instrument, instruments, safety):
    assert instruments["smu"].query("*IDN?") == instrument.query("*IDN?")
    assert list(instruments) == ["smu", "supply", "dmm", "load"]
    assert "nobody" not in instruments and len(instruments) == 4
    assert safety.estop("why not").confirmed and safety.latched
    safety.rearm("because")
    assert not safety.latched
    assert [r.payload for r in safety.records if r.priority is Priority.SAFETY] == [
        b":OUTP OFF", b":OUTP?"]

@pytest.mark.asyncio
async def test_async(async_instrument, async_instruments, dispatcher):
    assert await async_instruments["dmm"].query("*IDN?")
    reply = await dispatcher.submit("idn", b"*IDN?", Priority.QUERY)
    assert (await reply).decode() == await async_instrument.query("*IDN?")
    assert dispatcher.pending == 0
    assert dispatcher.records

@pytest.mark.asyncio(loop_scope="module")
async def test_in_another_loop_scope(async_instrument):
    assert await async_instrument.query("*IDN?")
    await asyncio.sleep(0)

@pytest.mark.asyncio(loop_scope="session")
async def test_in_the_sessions_loop(async_instrument):
    assert await async_instrument.query("*IDN?")

@pytest.mark.instrument("load", "supply")
def test_marked(instrument):
    assert instrument.name == "load"

@pytest.mark.hardware
def test_hardware(instrument):
    raise AssertionError

@pytest.mark.simulated
def test_simulated(instrument):
    assert instrument.simulated
"""
    )
    ended = suite.run("-rs")
    assert "6 passed, 1 skipped" in ended.stdout, ended.stdout
    assert "needs hardware, and the instrument is simulated" in ended.stdout


def test_the_safe_state_ends_every_test_by_default(suite: Suite, witness: Witness) -> None:
    suite.write(
        "def test_a(instrument):\n    instrument.write(':OUTP ON')\n"
        "def test_b(instrument):\n    assert instrument.query(':OUTP?') == '0'\n"
    )
    assert suite.run().returncode == 0
    assert len(witness.time_on_s()) == 1
    assert witness.is_off_and_read_back


@pytest.mark.parametrize(("scope", "seen"), [("module", ["1", "0"]), ("session", ["1", "1"])])
def test_a_wider_scope_keeps_the_output_on_until_its_end(
    suite: Suite, witness: Witness, scope: str, seen: list[str]
) -> None:
    suite.write(
        "def test_a(instrument):\n    instrument.write(':OUTP ON')\n"
        f"def test_b(instrument):\n    assert instrument.query(':OUTP?') == {seen[0]!r}\n",
        "test_1.py",
    )
    suite.write(
        f"def test_c(instrument):\n    assert instrument.query(':OUTP?') == {seen[1]!r}\n",
        "test_2.py",
    )
    ended = suite.run("-o", f"safetyq_scope={scope}")
    assert ended.returncode == 0, ended.stdout
    assert witness.is_off_and_read_back


LATENCY = """
import pytest
from pytest_safetyq import Priority

@pytest.mark.safety_latency(max_ms=500)
def test_holds(instrument):
    instrument.estop("x")

@pytest.mark.safety_latency
def test_nothing_was_sent(instrument):
    instrument.query("*IDN?")

@pytest.mark.safety_latency(max_ms=0.0001)
def test_too_slow(instrument):
    instrument.estop("x")

@pytest.mark.safety_latency(min_samples=3)
def test_too_few(instrument):
    instrument.estop("x")

@pytest.mark.safety_latency(instrument="load")
def test_of_another_instrument(instrument):
    instrument.estop("x")

@pytest.mark.safety_latency(min_samples=5, max_ms=500)
def test_submitted_and_not_waited_for(instrument):
    for n in range(5):
        instrument.submit(f":OUTP OFF;*OPC", priority=Priority.SAFETY)
        instrument.query("*IDN?")
"""


def test_the_latency_marker_holds_dispatches_against_its_limits(
    suite: Suite, witness: Witness
) -> None:
    suite.write(LATENCY)
    ended = suite.run("--junitxml=junit.xml")
    assert "4 failed, 2 passed" in ended.stdout, ended.stdout
    assert "0 safety dispatches were made, at least 1 are asked for" in ended.stdout
    assert "and at most 0.0001 allowed" in ended.stdout
    assert "2 safety dispatches were made, at least 3 are asked for" in ended.stdout
    assert "0 safety dispatches of load were made" in ended.stdout
    assert ":OUTP OFF" in ended.stdout.split("test_too_slow")[1]  # the table of samples
    cases = ET.parse(suite.directory / "junit.xml").getroot().iter("testcase")
    first = {p.get("name"): p.get("value") for p in next(cases).iter("property")}
    assert first["safetyq.smu.instrument"] == "GPIB0::5::INSTR keithley-2400 SIMULATED"
    assert first["safetyq.safe_state"] == "CONFIRMED"
    assert int(first["safetyq.smu.dispatches"] or 0) >= 2
    assert float(first["safetyq.smu.max_ms"] or 0) > 0


def test_the_summary_has_the_dispatches_of_each_instrument(suite: Suite) -> None:
    suite.write("def test_it(instrument, instruments):\n    instruments['load']\n")
    ended = suite.run()
    section = ended.stdout.split("= safetyq =")[1]
    assert "smu" in section
    assert "load" in section
    assert "SIMULATED" in section
    assert "p99" in section


def test_reports_and_trace_are_written(suite: Suite) -> None:
    suite.write("def test_it(instrument):\n    instrument.write(':OUTP ON')\n    assert False\n")
    suite.run(
        "--safetyq-report=run.json", "--safetyq-report=run.html", "--safetyq-trace=trace.json"
    )
    assert '"failed"' in (suite.directory / "run.json").read_text(encoding="utf-8")
    assert "CONFIRMED" in (suite.directory / "run.html").read_text(encoding="utf-8")
    assert "traceEvents" in (suite.directory / "trace.json").read_text(encoding="utf-8")


def test_list_and_check_run_without_tests(suite: Suite, witness: Witness) -> None:
    suite.write("def test_it(instrument):\n    raise AssertionError\n")
    listed = suite.run("--safetyq-list", "--safetyq-visa=@sim")
    assert listed.returncode == 0, listed.stderr
    assert "GPIB0::5::INSTR" in listed.stdout
    assert "keithley-2400" in listed.stdout
    checked = suite.run("--safetyq-check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "smu: off CONFIRMED" in checked.stdout
    assert "AssertionError" not in checked.stdout
    assert witness.is_off_and_read_back
    absent = suite.run("--safetyq-check", "--instrument=GPIB0::5")
    assert absent.returncode == 1
    assert "REAL" in absent.stdout
    wrong = suite.run("--safetyq-check", "--instrument=garbage")
    assert wrong.returncode == 4


def test_workers_of_xdist_bring_their_evidence_home(suite: Suite) -> None:
    suite.write(
        "import pytest\n@pytest.mark.parametrize('n', range(4))\n"
        "def test_it(instrument, n):\n    instrument.write(':OUTP ON')\n    assert n\n"
    )
    ended = suite.run("-n2", "--safetyq-report=run.json")
    assert "1 failed, 3 passed" in ended.stdout, ended.stdout
    assert "= safetyq =" in ended.stdout
    text = (suite.directory / "run.json").read_text(encoding="utf-8")
    assert text.count('"nodeid"') == 4


def test_other_common_plugins_live_beside_it(suite: Suite) -> None:
    suite.write(
        "import time\ndef test_it(instrument):\n    instrument.write(':OUTP ON')\n"
        "    time.sleep(20)\n"
    )
    ended = suite.run("--timeout=1", "-p", "no:randomly")
    assert ended.returncode == 1
    assert "Timeout" in ended.stdout

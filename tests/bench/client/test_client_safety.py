"""`Safety`: the bench as a whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench_rig import SMU, Rig

from pytest_safetyq import (
    EStopLatched,
    LimitExceeded,
    LinkLost,
    Priority,
    SafeStateUnconfirmed,
    SafetyError,
)
from pytest_safetyq.bench import Safety


def test_estop_drives_every_instrument_off(rig: Rig) -> None:
    rig.smu.write(":OUTP ON")
    rig.instrument("supply").write("OUTP ON,(@1,2)")
    rig.instrument("load").write("INP 1")
    report = rig.safety.estop("all of it")
    assert report.confirmed
    assert report.reason == "all of it"
    assert set(report.by_instrument) == {"smu", "supply", "dmm", "load"}
    assert report.by_instrument["dmm"].confirmed
    assert report.by_instrument["dmm"].steps == ()
    assert report.by_instrument["dmm"].dispatch_latency_s is None
    last = {entry.instrument: entry for entry in rig.witness.entries}
    assert not any(any(entry.output.values()) for entry in last.values())
    assert rig.safety.latched
    assert all(rig.instrument(name).latched for name in rig.specs)


def test_a_repeated_estop_confirms_again(rig: Rig) -> None:
    assert rig.safety.estop().confirmed
    assert rig.safety.estop().confirmed
    assert rig.safety.latched


def test_rearm_releases_all_and_switches_nothing_on(rig: Rig) -> None:
    rig.smu.write(":OUTP ON")
    rig.safety.estop()
    count = len(rig.sent())
    rig.safety.rearm("go on")
    assert not rig.safety.latched
    assert rig.sent()[count:] == []
    assert rig.smu.query(":OUTP?") == "0"


def test_rearm_of_what_is_not_latched_changes_nothing(rig: Rig) -> None:
    rig.safety.rearm("for no reason")
    assert not rig.safety.latched


def test_records_are_those_of_the_current_test(own: Rig) -> None:
    rig = own
    assert rig.safety.records == []
    rig.smu.query(":OUTP?")
    rig.instrument("load").query("INP?")
    rig.smu.write("*CLS")
    records = rig.safety.records
    assert [record.instrument for record in records] == ["smu", "load", "smu"]
    assert [record.payload for record in records] == [b":OUTP?", b"INP?", b"*CLS"]
    submitted = [record.submitted_s for record in records]
    assert submitted == sorted(submitted)
    rig.bench.begin_test("the next")
    assert rig.safety.records == []
    assert len(rig.dispatcher.records) >= 2


def test_an_estop_leaves_records_with_its_bound(rig: Rig) -> None:
    report = rig.smu.estop()
    safety = [r for r in rig.safety.records if r.priority is Priority.SAFETY]
    first = next(r for r in safety if r.instrument == "smu")
    assert first.payload == b":OUTP OFF"
    assert first.dispatch_latency_s == pytest.approx(report.dispatch_latency_s)
    assert first.bound_s == pytest.approx(report.bound_s)


def test_probe_measures_under_a_backlog(rig: Rig) -> None:
    stats = rig.safety.probe(samples=5, backlog=20)
    assert (stats.backlog, stats.command) == (20, ":OUTP OFF")
    for part in (stats.queue_wait, stats.wire_time, stats.confirmed_off):
        assert part.n == 5
        assert 0 <= part.min <= part.p50 <= part.p95 <= part.p99 <= part.max
    assert 0 <= stats.over_bound <= 5
    assert rig.sent().count(":OUTP OFF") >= 5
    assert rig.dispatcher.pending == 0
    assert not rig.safety.latched


def test_probe_of_another_instrument_with_another_command(rig: Rig) -> None:
    stats = rig.safety.probe("load", samples=1, backlog=0, command="INP OFF")
    assert stats.command == "INP OFF"
    assert stats.queue_wait.n == 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"samples": 0}, ValueError, "samples must be 1 or more"),
        ({"backlog": -1}, ValueError, "backlog must be 0 or more"),
        ({"samples": 1, "backlog": 100_000}, ValueError, "backlog must fit in the queue"),
        ({"instrument": "dmm"}, ValueError, "nothing to switch off"),
        ({"instrument": "nothing"}, LinkLost, "nothing is not open"),
        ({"samples": 1, "command": ":SOUR:VOLT 21"}, LimitExceeded, "voltage_v"),
        ({"samples": 1, "command": "\u03a9"}, ValueError, "latin-1|Latin-1"),
    ],
)
def test_probe_with_bad_arguments(
    rig: Rig, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        rig.safety.probe(**arguments)
    assert rig.dispatcher.pending == 0
    assert rig.smu.query(":OUTP?") == "0"


def test_probe_whose_command_does_not_switch_off(rig: Rig) -> None:
    with pytest.raises(SafeStateUnconfirmed, match=":OUTP\\? answered '1'"):
        rig.safety.probe(samples=3, backlog=2, command=":OUTP ON")
    rig.safety.estop()


def test_probe_while_latched_is_refused(rig: Rig) -> None:
    rig.safety.estop()
    with pytest.raises(EStopLatched):
        rig.safety.probe(samples=1)


def _stuck(devices: dict[str, Any]) -> None:
    devices["smu"]["traits"]["output_stuck_on"] = "true"


def test_an_output_that_is_stuck_on_is_unconfirmed(start: Callable[..., Rig]) -> None:
    rig = start(_stuck)
    rig.smu.write(":OUTP ON")
    report = rig.safety.estop("it will not work")
    assert not report.confirmed
    assert not report.by_instrument["smu"].confirmed
    assert report.by_instrument["smu"].attempts == 3
    assert report.by_instrument["smu"].confirmed_latency_s is None
    assert report.confirmed_latency_s is None
    assert report.by_instrument["load"].confirmed
    assert "UNCONFIRMED after 3 attempts" in str(report.by_instrument["smu"])
    assert rig.sent().count(":OUTP OFF") == 3
    with pytest.raises(SafeStateUnconfirmed, match="smu"):
        rig.safety.rearm("never")
    assert rig.safety.latched
    with pytest.raises(EStopLatched):
        rig.instrument("load").write("INP 1")


def test_an_instrument_that_is_opened_while_tripped_is_latched(start: Callable[..., Rig]) -> None:
    rig = start(
        instruments="  load: {resource: 'GPIB0::8::INSTR', model: sim-load}\n",
    )
    rig.safety.estop("before it is there")
    spec = msgspec.structs.replace(
        rig.specs["load"], name="supply", resource="GPIB0::6::INSTR", model=None, profile=None
    )
    assert rig.bench.open(spec).model == "sim-supply"
    rig.specs["supply"] = spec
    with pytest.raises(EStopLatched):
        rig.instrument("supply").write("OUTP ON")


def test_absent_hardware_says_what_was_found_instead(own: Rig) -> None:
    spec = msgspec.structs.replace(own.specs["smu"], name="absent", resource="GPIB0::25::INSTR")
    with pytest.raises(LinkLost, match=r"found instead:.*GPIB0::5::INSTR") as caught:
        own.bench.open(spec)
    assert "\n" not in str(caught.value)
    assert "absent" not in own.bench.opened


def test_another_model_than_named_is_refused(own: Rig) -> None:
    elsewhere = own.specs["smu"].library.replace("@sim", "")
    copy = Path(elsewhere).with_name("another.yaml")
    shutil.copy(elsewhere, copy)  # another bench: this one has its load open already
    spec = msgspec.structs.replace(
        own.specs["smu"], name="wrong", resource="GPIB0::8::INSTR", library=f"{copy}@sim"
    )
    with pytest.raises(SafetyError, match="ELECTRONIC LOAD"):
        own.bench.open(spec)


def test_one_resource_never_has_two_owners(own: Rig) -> None:
    """Two names for one link would be two dispatchers that interleave on it."""
    spec = msgspec.structs.replace(own.specs["smu"], name="again")
    with pytest.raises(SafetyError, match=SMU):
        own.bench.open(spec)


def test_another_instrument_under_a_name_that_is_taken_is_refused(own: Rig) -> None:
    spec = msgspec.structs.replace(own.specs["load"], name="smu")
    with pytest.raises(SafetyError, match="open already"):
        own.bench.open(spec)


def test_an_empty_reason_is_filled_in(rig: Rig) -> None:
    assert rig.safety.estop().reason
    assert Safety(rig.bench, "smu").estop("").reason

"""What people read: which instrument, which command, whose job, and how to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from bench_rig import Rig

from pytest_safetyq import Priority, SafetyError


def test_a_job_is_known_by_the_name_of_its_function(rig: Rig) -> None:
    async def sweep_the_gate(txn: Callable[[bytes], Any]) -> None:
        await txn(b"*CLS")

    asyncio.run(rig.dispatcher.run_job(sweep_the_gate, Priority.CONTROL))
    names = {record.cmd_id for record in rig.safety.records if record.payload in (b"", b"*CLS")}
    assert {name.rpartition(".")[2] for name in names} == {"sweep_the_gate"}


def test_what_is_refused_by_the_latch_says_that_it_is_off_and_how_to_go_on(rig: Rig) -> None:
    rig.smu.estop("smoke")
    with pytest.raises(SafetyError) as caught:
        rig.smu.write(":OUTP ON")
    assert str(caught.value) == (
        "smu: ':OUTP ON': smu is tripped (smoke); only SAFETY is accepted; its output is off"
        " already (CONFIRMED), and the next test begins rearmed; to go on in this one:"
        " safety.rearm(reason)"
    )


def test_what_is_refused_before_off_is_confirmed_does_not_say_that_it_is_off(rig: Rig) -> None:
    asyncio.run(rig.dispatcher.trip("smoke"))
    with pytest.raises(SafetyError, match="off is not confirmed yet"):
        rig.smu.write(":OUTP ON")


def test_a_timeout_names_instrument_and_command_as_text(rig: Rig) -> None:
    with pytest.raises(SafetyError) as caught:
        rig.smu.query(":FETC?", timeout_s=0.1)
    assert str(caught.value) == "smu: no reply to ':FETC?' within 0.1 s"

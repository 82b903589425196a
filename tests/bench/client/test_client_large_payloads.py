"""Payloads and replies of megabytes: what goes over the connection, and what ends it: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from bench_rig import Rig

from pytest_safetyq import Priority
from pytest_safetyq.bench.supervisor.abridging import KEPT_BYTES
from pytest_safetyq.bench.wire import framing

MEGABYTE = 1024 * 1024


def test_records_keep_the_beginning_of_a_payload_and_its_length(rig: Rig) -> None:
    payload = b":TRAC:DATA " + b"7" * MEGABYTE
    for _ in range(5):
        rig.smu.write_raw(payload + b"\n", timeout_s=5.0)
    expected = payload[:KEPT_BYTES] + b"... (%d bytes)" % (len(payload) + 1)
    for records in (rig.safety.records, rig.dispatcher.records):
        assert [r.payload for r in records if r.payload.startswith(b":TRAC")][-1] == expected
        assert max(len(record.cmd_id) for record in records) <= KEPT_BYTES + 30


def test_a_long_name_of_a_command_is_kept_in_part(rig: Rig) -> None:
    async def submit() -> None:
        await (await rig.dispatcher.submit("n" * 5000, b"*CLS", Priority.CONTROL))

    asyncio.run(submit())
    (record,) = [r for r in rig.safety.records if r.cmd_id.startswith("nnn")]
    assert record.cmd_id == "n" * KEPT_BYTES + "... (5000 characters)"


def test_a_message_that_is_too_long_is_refused_here(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 100_000)
    sent = len(rig.sent())
    with pytest.raises(ValueError, match=r"Submit has [0-9]+ bytes; at most 100000 can go"):
        rig.smu.write_raw(b"x" * 200_000)
    assert rig.smu.query(":OUTP?") == "0"
    assert rig.sent()[sent:] == [":OUTP?"]


@pytest.mark.parametrize(
    "call",
    [
        lambda smu: smu.estop(5),
        lambda smu: smu.query(":OUTP?", timeout_s="1 s"),
        lambda smu: smu.estop("\udc80"),
    ],
    ids=["a reason", "a budget", "no Unicode"],
)
def test_an_argument_of_a_wrong_type_is_an_error_of_that_call(
    rig: Rig, call: Callable[[Any], object]
) -> None:
    """It would be refused by the supervisor as a whole, and the bench be lost by it."""
    with pytest.raises((TypeError, ValueError)):
        call(rig.smu)
    assert rig.smu.query(":OUTP?") == "0"
    assert rig.bench.lost is None


def test_a_reply_of_megabytes_arrives(start: Callable[..., Rig]) -> None:
    size = 300_000

    def talkative(devices: dict[str, Any]) -> None:
        devices["smu"]["dialogues"].append({"q": ":CURV:HUGE?", "r": f"#6{size}" + "x" * size})

    rig = start(talkative)
    assert len(rig.smu.query_binary_values(":CURV:HUGE?", datatype="b", timeout_s=30.0)) == size

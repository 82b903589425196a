"""`probe`: safety commands under a backlog of polls, measured in stages."""

import asyncio
import time
from typing import Any

import pytest
from supervisor_helpers import LOADED_S, in_background, off_link, profile_of, started, until

from pytest_safetyq import EStopLatched, Priority, SafeStateUnconfirmed, SafetyError
from pytest_safetyq.bench.config import Confirm, Profile, Step
from pytest_safetyq.bench.reports import DISPATCH_SLACK_S
from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.supervisor.probe import probe
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


def sent_safety(smu: OwnedInstrument) -> list[bytes]:
    return [r.payload for r in smu.dispatcher.records if r.priority is SAFETY]


async def test_it_sends_each_sample_behind_a_backlog_and_reads_it_back() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.004)
    smu = await started(link)
    most = 0

    def see(record: object) -> None:
        nonlocal most
        most = max(most, smu.dispatcher.pending_by_priority[POLL])

    smu.dispatcher.subscribe(see)
    stats = await probe(smu, samples=5, backlog=20, command=None)
    assert sent_safety(smu) == [b"OUTP OFF", b"OUTP?"] * 5
    assert 18 <= most <= 20
    assert (stats.queue_wait.n, stats.wire_time.n, stats.confirmed_off.n) == (5, 5, 5)
    assert (stats.backlog, stats.command) == (20, "OUTP OFF")
    assert stats.over_bound <= 1, "all but the first go behind a poll in flight, within its budget"
    assert 0.0 <= stats.queue_wait.min <= stats.queue_wait.p50 <= stats.queue_wait.max
    assert stats.confirmed_off.min >= 0.004
    assert stats.queue_wait.min < stats.confirmed_off.max
    await smu.close()


async def test_it_sends_the_whole_sequence_reads_its_replies_and_asks_every_confirm_query() -> None:
    link = ScriptedLink({b"OUT1 0": b"OK", b"OUT2 0": b"OK", b"OUT1?": b"0", b"OUT2?": b"0"})
    profile = Profile(
        off=(Step(send="OUT1 0", reply=True), Step(send="OUT2 0", reply=True)),
        confirm=tuple(Confirm(query=f"OUT{n}?", accept=("0",)) for n in (1, 2)),
    )
    smu = await started(link, profile)
    stats = await probe(smu, samples=2, backlog=0, command=None)
    assert link.payloads == [b"OUT1 0", b"OUT2 0", b"OUT1?", b"OUT2?"] * 2
    assert (stats.queue_wait.n, stats.confirmed_off.n, stats.command) == (2, 2, "OUT1 0")
    assert not link.unread
    await smu.close()


async def test_it_leaves_no_poll_behind() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.002)
    smu = await started(link)
    await probe(smu, samples=1, backlog=30, command=None)
    assert smu.dispatcher.pending == 0
    await smu.close()


async def test_what_others_have_waiting_counts_for_the_backlog_and_is_theirs() -> None:
    link = ScriptedLink({b"OUTP?": b"0", b"P?": b"1"}, latency_s=0.005)
    smu = await started(link, tau_age=0)
    others = [smu.submit(f"o{n}", b"P?", POLL) for n in range(6)]
    await probe(smu, samples=1, backlog=4, command=None)
    assert not any(r.cmd_id == "probe poll" for r in smu.dispatcher.records)
    assert await asyncio.gather(*others) == [b"1"] * 6
    await smu.close()


async def test_without_a_backlog_it_measures_an_idle_link() -> None:
    link = off_link()
    smu = await started(link)
    stats = await probe(smu, samples=3, backlog=0, command=None)
    assert link.payloads == [b"OUTP OFF", b"OUTP?"] * 3
    assert stats.queue_wait.max < LOADED_S
    await smu.close()


async def test_dispatches_over_their_own_bound_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    smu = await started(off_link())
    submit = smu.submit

    def submit_and_block(cmd_id: str, *args: Any, **settings: Any) -> Any:
        reply = submit(cmd_id, *args, **settings)
        if cmd_id in ("probe 0", "probe 2"):
            time.sleep(DISPATCH_SLACK_S + 0.01)
        return reply

    monkeypatch.setattr(smu, "submit", submit_and_block)
    stats = await probe(smu, samples=3, backlog=0, command=None)
    assert 2 <= stats.over_bound <= 3, "the bound of an idle link is 0, and a machine may be slow"
    assert stats.queue_wait.max > DISPATCH_SLACK_S
    await smu.close()


async def test_a_command_of_ones_own_is_sent_instead() -> None:
    smu = await started(off_link())
    stats = await probe(smu, samples=2, backlog=0, command="ABOR")
    assert sent_safety(smu) == [b"ABOR", b"OUTP?"] * 2
    assert stats.command == "ABOR"
    await smu.close()


async def test_samples_are_not_coalesced() -> None:
    smu = await started(off_link(), coalesce_s=30.0)
    await probe(smu, samples=4, backlog=0, command=None)
    assert sent_safety(smu).count(b"OUTP OFF") == 4
    assert smu.dispatcher.coalesced == 0
    await smu.close()


async def test_it_settles_before_it_reads_back() -> None:
    link = off_link()
    smu = await started(link, profile_of("OFF", settle_s=0.05))
    stats = await probe(smu, samples=1, backlog=0, command=None)
    off, confirm = [message.at_s for message in link.sent]
    assert confirm - off >= 0.049
    assert stats.confirmed_off.min >= 0.049
    assert stats.wire_time.max < stats.confirmed_off.min
    await smu.close()


@pytest.mark.parametrize(
    ("samples", "backlog", "match"),
    [
        (0, 10, "samples must be 1 or more, not 0"),
        (-1, 10, "samples must be 1 or more"),
        (1, -1, "backlog must be 0 or more, not -1"),
        (1, 11, "backlog must fit in the queue, 11 doesn't"),
    ],
)
async def test_numbers_out_of_range_are_refused(samples: int, backlog: int, match: str) -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.05)
    smu = await started(link, max_depth=10)
    with pytest.raises(ValueError, match=match):
        await probe(smu, samples=samples, backlog=backlog, command=None)
    assert sent_safety(smu) == []
    assert smu.dispatcher.pending == 0
    await smu.close()


async def test_an_instrument_with_nothing_to_switch_off_can_not_be_probed() -> None:
    dmm = await started(ScriptedLink(), profile_of(), name="dmm")
    with pytest.raises(ValueError, match="dmm: model test-model has nothing to switch off"):
        await probe(dmm, samples=1, backlog=0, command=None)
    await dmm.close()


@pytest.mark.parametrize("answer", [b"1", None])
async def test_it_stops_at_the_first_that_is_not_confirmed(answer: bytes | None) -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, resync_budget_s=0.02)
    link.on(b"OUTP?", b"0", answer)
    smu = await started(link, timeout_s=0.05)
    with pytest.raises(SafeStateUnconfirmed, match=r"smu: OUTP\? "):
        await probe(smu, samples=5, backlog=0, command=None)
    assert sent_safety(smu) == [b"OUTP OFF", b"OUTP?"] * 2
    await smu.close()


async def test_it_takes_its_polls_back_also_when_it_fails() -> None:
    link = ScriptedLink(latency_s=0.01, resync_budget_s=0.02)
    smu = await started(link, timeout_s=0.05)
    with pytest.raises(SafetyError):
        await probe(smu, samples=1, backlog=20, command=None)
    assert smu.dispatcher.pending == 0
    await smu.close()


async def test_it_takes_its_polls_back_also_when_it_is_cancelled() -> None:
    link = ScriptedLink({b"OUTP?": b"0"}, latency_s=0.01)
    smu = await started(link, profile_of("OFF", settle_s=60.0))
    probing = in_background(probe(smu, samples=1, backlog=20, command=None))
    await until(lambda: b"OFF" in link.payloads)
    probing.cancel()
    await asyncio.wait({probing})
    assert smu.dispatcher.pending == 0
    await smu.close()


async def test_a_latched_instrument_is_not_probed() -> None:
    link = off_link()
    smu = await started(link)
    await smu.dispatcher.trip("smoke")
    with pytest.raises(EStopLatched, match="smoke"):
        await probe(smu, samples=1, backlog=1, command=None)
    assert link.payloads == []
    await smu.close()

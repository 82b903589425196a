"""Arguments that can't be right, and loops that aren't the dispatcher's."""

import asyncio
import inspect
import threading
from typing import Any

import pytest
from dispatcher_helpers import Owner, turns

from pytest_safetyq import BacklogFull, Priority, SafetyAwareDispatcher
from pytest_safetyq.links import ScriptedLink

SAFETY, CONTROL, QUERY, POLL = Priority


@pytest.mark.parametrize("payload", ["OUTP OFF", None, 5, ["X"]])
async def test_a_payload_that_is_not_bytes_is_refused(own: Owner, payload: Any) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        with pytest.raises(TypeError, match="payload must be bytes"):
            await dispatcher.submit("x", payload, SAFETY)
        assert dispatcher.pending == 0
        assert dispatcher.records == []
    assert link.payloads == []


@pytest.mark.parametrize("budget_s", [0, 0.0, -1, -0.5, float("nan"), float("inf")])
async def test_a_budget_that_can_not_be_one_is_refused(own: Owner, budget_s: float) -> None:
    link = ScriptedLink()
    async with own(link) as dispatcher:
        with pytest.raises(ValueError, match="timeout must be a positive number"):
            await dispatcher.submit("x", b"X", SAFETY, timeout=budget_s)
        assert dispatcher.pending == 0
    assert link.payloads == []


@pytest.mark.parametrize("priority", [7, -1, 4])
async def test_a_priority_that_does_not_exist_is_refused(own: Owner, priority: Any) -> None:
    async with own(ScriptedLink()) as dispatcher:
        with pytest.raises(ValueError, match="is not a valid Priority"):
            await dispatcher.submit("x", b"X", priority)
        with pytest.raises(ValueError, match="is not a valid Priority"):
            await dispatcher.run_job(lambda txn: txn(b"X"), priority)
        with pytest.raises(ValueError, match="is not a valid Priority"):
            dispatcher.worst_case_s(priority)
        assert dispatcher.pending == 0


async def test_a_plain_number_is_taken_for_its_priority(own: Owner) -> None:
    async with own(ScriptedLink()) as dispatcher:
        await (await dispatcher.submit("x", b"X", 0))  # type: ignore[arg-type]
    assert dispatcher.records[0].priority is SAFETY


async def test_the_defaults_are_those_of_the_contract() -> None:
    parameters = inspect.signature(SafetyAwareDispatcher.__init__).parameters
    assert {n: p.default for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY} == {
        "max_depth": 256,
        "tau_age": 2.0,
        "inter_command_delay": 0.0,
        "coalesce_s": 0.05,
        "history": 4096,
        "name": "instrument",
    }
    submit = inspect.signature(SafetyAwareDispatcher.submit).parameters
    assert (submit["timeout"].default, submit["expect_reply"].default) == (5.0, None)
    abort = inspect.signature(SafetyAwareDispatcher.abort_low_priority).parameters
    assert abort["below"].default is CONTROL


async def test_a_tau_age_that_is_no_number_does_not_end_the_worker(own: Owner) -> None:
    """Refused by the constructor, or harmless."""
    try:
        dispatcher = own(ScriptedLink(), tau_age=float("nan"))
    except ValueError:
        return
    async with dispatcher:
        future = await dispatcher.submit("x", b"X", POLL)
        assert await future == b""


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("max_depth", -1),
        ("history", -1),
        ("tau_age", NAN),
        ("inter_command_delay", -0.001),
        ("inter_command_delay", NAN),
        ("inter_command_delay", INF),
        ("coalesce_s", -0.001),
        ("coalesce_s", NAN),
        ("coalesce_s", INF),
    ],
)
async def test_a_setting_out_of_its_range_is_refused_by_name(
    own: Owner, setting: str, wrong: float
) -> None:
    with pytest.raises(ValueError, match=f"^{setting} must be "):
        own(ScriptedLink(), **{setting: wrong})


@pytest.mark.parametrize(
    ("setting", "at_the_edge"),
    [
        ("max_depth", 0),
        ("history", 0),
        ("tau_age", 0.0),
        ("tau_age", -1.0),
        ("tau_age", INF),
        ("tau_age", -INF),
        ("inter_command_delay", 0),
        ("coalesce_s", 0),
    ],
)
async def test_a_setting_at_the_edge_of_its_range_works(
    own: Owner, setting: str, at_the_edge: float
) -> None:
    link = ScriptedLink({b"OFF?": b"0"})
    async with own(link, **{setting: at_the_edge}) as dispatcher:
        futures = [await dispatcher.submit(f"s{n}", b"OFF?", SAFETY) for n in range(2)]
        assert await asyncio.gather(*futures) == [b"0", b"0"]
        if setting == "max_depth":
            with pytest.raises(BacklogFull):
                await dispatcher.submit("p", b"P", POLL)
        else:
            assert await (await dispatcher.submit("p", b"P", POLL)) == b""
            assert dispatcher.worst_case_s(POLL) == 0.0
        assert len(dispatcher.records) == (0 if setting == "history" else 3)
    assert link.payloads == [b"OFF?", b"OFF?", *([] if setting == "max_depth" else [b"P"])]


async def test_another_loop_is_refused_and_does_no_harm(own: Owner) -> None:
    link = ScriptedLink()
    caught: list[BaseException] = []

    async with own(link) as dispatcher:

        async def elsewhere() -> None:
            for action in (
                lambda: dispatcher.submit("x", b"X", SAFETY),
                lambda: dispatcher.run_job(lambda txn: txn(b"X"), SAFETY),
            ):
                try:
                    await action()
                except RuntimeError as error:
                    caught.append(error)

        thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
        thread.start()
        await asyncio.to_thread(thread.join)
        assert ["another event loop" in str(error) for error in caught] == [True, True]
        await turns()
        assert link.payloads == []
        assert await (await dispatcher.submit("y", b"Y", CONTROL)) == b""

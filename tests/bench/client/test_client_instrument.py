"""`Instrument`: every method by what reaches the instrument, and what comes back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest
from bench_rig import SMU, Rig, all_end, bounded, until

from pytest_safetyq import (
    BacklogFull,
    EStopLatched,
    LimitExceeded,
    Priority,
    SafetyError,
    TransactionTimeout,
)
from pytest_safetyq.bench import Instrument

IDENTITY = "KEITHLEY INSTRUMENTS INC.,MODEL 2400,SIM0001,C32"


def test_what_it_says_of_itself(rig: Rig) -> None:
    smu = rig.smu
    assert (smu.name, smu.resource_name, smu.model) == ("smu", SMU, "keithley-2400")
    assert smu.simulated is True
    assert smu.latched is False
    assert smu.identity == IDENTITY
    assert "SIMULATED" in repr(smu)
    with pytest.raises(AttributeError):
        smu.name = "other"  # type: ignore[misc]


def test_write_returns_when_the_instrument_has_it(rig: Rig) -> None:
    rig.smu.write(":SOUR:VOLT 3")
    assert rig.sent()[-1] == ":SOUR:VOLT 3"


def test_query_returns_the_reply_without_its_terminator(rig: Rig) -> None:
    assert rig.smu.query("*IDN?") == IDENTITY


@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_terminator_in_the_command_is_not_doubled(rig: Rig, ending: str) -> None:
    assert rig.smu.query("*IDN?" + ending) == IDENTITY
    assert rig.smu.query(":OUTP?") == "0"
    assert rig.smu.query(":SYST:ERR?").startswith("0,")


def test_write_raw_and_query_raw_send_the_bytes_as_they_are(rig: Rig) -> None:
    rig.smu.write_raw(b":SOUR:VOLT 4")  # no terminator: the message isn't over
    assert rig.sent() == []
    rig.smu.write_raw(b".5\n")
    assert rig.sent() == [":SOUR:VOLT 4.5"]
    assert rig.smu.query_raw(b"*IDN?\n") == IDENTITY.encode() + b"\n"


@pytest.mark.parametrize(
    ("call", "priority"),
    [
        (lambda smu: smu.write(":SOUR:VOLT 1"), Priority.CONTROL),
        (lambda smu: smu.write_raw(b":SOUR:VOLT 1\n"), Priority.CONTROL),
        (lambda smu: smu.query(":OUTP?"), Priority.QUERY),
        (lambda smu: smu.query_raw(b":OUTP?\n"), Priority.QUERY),
        (lambda smu: smu.query_ascii_values(":OUTP?"), Priority.QUERY),
        (lambda smu: smu.query_binary_values(":CURV:FLO?"), Priority.QUERY),
        (lambda smu: smu.write(":SOUR:VOLT 1", priority=Priority.POLL), Priority.POLL),
        (lambda smu: smu.query(":OUTP?", priority=Priority.SAFETY), Priority.SAFETY),
        (lambda smu: smu.query_ascii_values(":OUTP?", priority=Priority.POLL), Priority.POLL),
        (lambda smu: smu.query(":OUTP?", priority=1), Priority.CONTROL),
    ],
)
def test_the_priority_of_each_call(
    rig: Rig, call: Callable[[Instrument], object], priority: Priority
) -> None:
    call(rig.smu)
    (record,) = bounded(lambda: rig.safety.records)
    assert record.priority is priority
    assert record.outcome == "ok"


def test_a_write_that_asks_does_not_answer_the_next_query(rig: Rig) -> None:
    rig.smu.write("*IDN?")
    rig.smu.write(":SOUR:VOLT?;:OUTP?")
    assert rig.smu.query(":OUTP?") == "0"


def test_a_question_mark_in_a_string_asks_nothing(rig: Rig) -> None:
    rig.smu.write(':DISP:TEXT "why?"')  # the SMU doesn't know it, and would not answer it
    assert rig.smu.query(":OUTP?") == "0"
    assert [record.outcome for record in rig.safety.records] == ["ok", "ok"]


def test_a_mute_query_times_out_and_the_next_reply_is_right(rig: Rig) -> None:
    before_s = time.monotonic()
    with pytest.raises(TransactionTimeout) as caught:
        rig.smu.query(":FETC?", timeout_s=0.05)
    assert time.monotonic() - before_s >= 0.05
    assert isinstance(caught.value, TimeoutError)
    assert rig.smu.query(":OUTP?") == "0"


def test_a_late_reply_answers_nobody(rig: Rig) -> None:
    with pytest.raises(TransactionTimeout):
        rig.smu.query(":READ?", timeout_s=0.05)
    assert [rig.smu.query(":OUTP?"), rig.smu.query("*IDN?")] == ["0", IDENTITY]


def test_the_budget_is_the_instruments_own_unless_given(rig: Rig) -> None:
    before_s = time.monotonic()
    with pytest.raises(TransactionTimeout):
        rig.smu.query(":FETC?")
    assert 1.0 <= time.monotonic() - before_s < 2.0  # timeout_s: 1.0 in the bench file


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_none_is_refused(rig: Rig, timeout_s: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number"):
        rig.smu.write(":SOUR:VOLT 1", timeout_s=timeout_s)
    assert rig.sent() == []


@pytest.mark.parametrize(
    "command", [":SOUR:VOLT 21", ":SOUR:VOLT -20.5", "*CLS;:SOUR:CURR 2", ":SOUR:VOLT MAX"]
)
def test_a_set_point_outside_the_limits_is_not_sent(rig: Rig, command: str) -> None:
    count = len(rig.sent())
    for send in (
        lambda: rig.smu.write(command),
        lambda: rig.smu.query(command),
        lambda: rig.smu.write_raw(command.encode() + b"\n"),
        lambda: rig.smu.query_raw(command.encode() + b"\n"),
        lambda: rig.smu.submit(command, priority=Priority.POLL),
        lambda: rig.smu.write(command, priority=Priority.SAFETY),
    ):
        with pytest.raises(LimitExceeded, match="nothing was sent"):
            send()
    assert len(rig.sent()) == count


def test_text_that_no_instrument_takes_is_refused(rig: Rig) -> None:
    with pytest.raises(ValueError, match="Latin-1"):
        rig.smu.write(":DISP:TEXT '\u03a9'")


@pytest.mark.parametrize("command", [5, 0, None, ["*RST"], True])
def test_a_command_that_is_no_text_is_refused(rig: Rig, command: object) -> None:
    count = len(rig.sent())
    with pytest.raises(TypeError):
        rig.smu.write(command)  # type: ignore[arg-type]
    rig.smu.query("*IDN?")
    assert rig.sent()[count:] == ["*IDN?"]


@pytest.mark.parametrize("priority", [4, -1, "CONTROL"])
def test_a_priority_that_is_none_is_refused(rig: Rig, priority: object) -> None:
    with pytest.raises(ValueError, match="Priority"):
        rig.smu.write(":SOUR:VOLT 1", priority=priority)  # type: ignore[arg-type]


def test_submit_returns_a_future_of_the_reply(rig: Rig) -> None:
    with rig.held():
        answer = rig.smu.submit(":OUTP?", priority=Priority.QUERY)
        assert isinstance(answer, concurrent.futures.Future)
        assert not answer.done()
    assert answer.result(10) == "0"


def test_submit_of_a_command_that_asks_nothing(rig: Rig) -> None:
    assert rig.smu.submit(":SOUR:VOLT 2", priority=Priority.CONTROL).result(10) == ""
    assert rig.sent()[-1] == ":SOUR:VOLT 2"


def test_a_submitted_future_fails_with_what_the_query_failed_with(rig: Rig) -> None:
    answer = rig.smu.submit(":FETC?", priority=Priority.QUERY, timeout_s=0.05)
    assert isinstance(answer.exception(10), TransactionTimeout)


def test_a_cancelled_future_is_not_sent(rig: Rig) -> None:
    with rig.held():
        answer = rig.smu.submit(":SOUR:VOLT 7", priority=Priority.CONTROL)
        assert answer.cancel()
        until(lambda: rig.waiting(Priority.CONTROL) == 0, "the command is withdrawn")
    rig.smu.query("*IDN?")
    assert ":SOUR:VOLT 7" not in rig.sent()
    assert answer.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        answer.result(0)


def test_a_cancelled_safety_command_is_sent_all_the_same(rig: Rig) -> None:
    count = len(rig.sent())
    rig.smu.submit(":OUTP OFF", priority=Priority.SAFETY).cancel()
    until(lambda: ":OUTP OFF" in rig.sent()[count:], "the command is sent")


def test_the_most_urgent_goes_first(rig: Rig) -> None:
    with rig.held():
        answers = [
            rig.smu.submit(f":SOUR:VOLT {number}", priority=priority)
            for number, priority in enumerate([Priority.POLL, Priority.QUERY, Priority.CONTROL])
        ]
    for answer in answers:
        answer.result(10)
    assert rig.sent()[-3:] == [":SOUR:VOLT 2", ":SOUR:VOLT 1", ":SOUR:VOLT 0"]


def test_a_full_queue_refuses_and_takes_safety(rig: Rig) -> None:
    with rig.held():
        answers = [rig.smu.submit("*CLS", priority=Priority.POLL) for _ in range(256)]
        with pytest.raises(BacklogFull):
            rig.smu.submit("*CLS", priority=Priority.CONTROL)
        with pytest.raises(BacklogFull):
            rig.smu.query(":OUTP?")
        assert rig.smu.query(":OUTP?", priority=Priority.SAFETY) == "0"
        for answer in answers:
            answer.cancel()
        until(lambda: rig.dispatcher.pending == 0, "the queue is empty")


def test_estop_switches_off_reads_back_and_latches(rig: Rig) -> None:
    rig.smu.write(":OUTP ON")
    report = rig.smu.estop("because")
    assert (report.confirmed, report.reason, report.instrument) == (True, "because", "smu")
    assert [step.command for step in report.steps] == [":OUTP OFF", ":OUTP?"]
    assert report.attempts == 1
    assert report.dispatch_latency_s is not None
    assert report.confirmed_latency_s is not None
    assert 0 <= report.dispatch_latency_s <= report.confirmed_latency_s
    assert rig.smu.latched
    assert not rig.is_on


def test_every_call_is_refused_while_latched(rig: Rig) -> None:
    rig.smu.estop()
    count = len(rig.sent())
    for send in (
        lambda: rig.smu.write(":OUTP ON"),
        lambda: rig.smu.query(":READ?"),
        lambda: rig.smu.write_raw(b":OUTP ON\n"),
        lambda: rig.smu.query_raw(b":READ?\n"),
        lambda: rig.smu.query_ascii_values(":READ?"),
        lambda: rig.smu.query_binary_values(":CURV:FLO?"),
        lambda: rig.smu.submit(":OUTP ON", priority=Priority.CONTROL),
    ):
        with pytest.raises(EStopLatched):
            send()
    assert len(rig.sent()) == count
    assert rig.smu.query(":OUTP?", priority=Priority.SAFETY) == "0"


def test_what_waits_when_it_trips_fails_and_is_never_sent(rig: Rig) -> None:
    with rig.held():
        answer = rig.smu.submit(":SOUR:VOLT 9", priority=Priority.CONTROL)
        assert rig.smu.estop().confirmed
    assert isinstance(answer.exception(10), EStopLatched)
    rig.safety.rearm("the test goes on")
    rig.smu.query("*IDN?")
    assert ":SOUR:VOLT 9" not in rig.sent()


def test_many_threads_get_their_own_replies(rig: Rig) -> None:
    asked = {
        ":OUTP?": "0",
        "*IDN?": IDENTITY,
        ":DATA:SEMI?": "1;2;3",
        ":DATA:WORD?": "on,off",
        ":SYST:VERS?": "1996.0",
        ":DATA:HEX?": "1A,ff",
    }
    wrong: list[tuple[str, str]] = []

    def ask(query: str) -> None:
        for _ in range(25):
            if (reply := rig.smu.query(query)) != asked[query]:
                wrong.append((query, reply))

    threads = [threading.Thread(target=ask, args=(query,)) for query in asked]
    all_end(threads)
    assert wrong == []
    assert len(rig.safety.records) == 25 * len(asked)


class Interrupted(BaseException):
    """Stands for Ctrl-C."""


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Interrupt the main thread, as Ctrl-C does, once a condition holds."""
    del monkeypatch

    def handle(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    def interrupt_when(condition: Callable[[], object]) -> None:
        def wait() -> None:
            until(condition, "the call waits")
            signal.pthread_kill(main, signal.SIGUSR1)

        main = threading.get_ident()
        signal.signal(signal.SIGUSR1, handle)
        threading.Thread(target=wait, daemon=True).start()

    return interrupt_when


def test_an_interrupted_query_leaves_no_reply_to_the_next(
    rig: Rig, interrupt: Callable[[Callable[[], object]], None]
) -> None:
    count = len(rig.sent())
    interrupt(lambda: ":FETC?" in rig.sent()[count:])
    with pytest.raises(Interrupted):
        rig.smu.query(":FETC?")
    assert rig.smu.query(":OUTP?") == "0"


def test_an_interrupted_write_that_still_waits_is_not_sent(
    rig: Rig, interrupt: Callable[[Callable[[], object]], None]
) -> None:
    with rig.held():
        interrupt(lambda: rig.waiting(Priority.CONTROL) == 1)
        with pytest.raises(Interrupted):
            rig.smu.write(":SOUR:VOLT 8")
    rig.smu.query("*IDN?", priority=Priority.POLL)
    assert ":SOUR:VOLT 8" not in rig.sent()


def test_a_waiting_call_ends_when_its_command_is_aborted(own: Rig) -> None:
    """`abort_low_priority` cancels a command for which a thread is blocked."""
    ended: list[BaseException | str] = []

    def ask() -> None:
        try:
            ended.append(own.smu.query(":OUTP?", priority=Priority.POLL))
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            ended.append(error)

    with own.held():
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        until(lambda: own.waiting(Priority.POLL) == 1, "the query waits")
        assert asyncio.run(own.dispatcher.abort_low_priority()) == 1
        thread.join(5)
        assert not thread.is_alive(), "the call waits for ever"
    assert isinstance(ended[0], concurrent.futures.CancelledError | SafetyError)

"""A supervisor that doesn't answer: every call ends, in one line that says so."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from bench_rig import Rig, bounded, is_gone, until

from pytest_safetyq import LinkLost, Priority
from pytest_safetyq.bench.client import answer as client_answer
from pytest_safetyq.bench.client import connection as client_connection
from pytest_safetyq.bench.client.bench import begin_estop
from pytest_safetyq.dispatcher.loan import Transact

SILENT = r"the supervisor \(process [0-9]+\) does not answer: "


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_answer, "ANSWER_TIMEOUT_S", 0.5)
    monkeypatch.setattr(client_answer, "CHECK_AFTER_S", 0.5)
    monkeypatch.setattr(client_connection, "SEND_TIMEOUT_S", 0.5)


@pytest.fixture
def frozen(impatient: None, own: Rig) -> Iterator[Rig]:
    """A bench whose supervisor is stopped, with the output on."""
    del impatient
    own.smu.write(":OUTP ON")
    own.kill(signal.SIGSTOP)
    yield own
    own.kill(signal.SIGCONT)


async def _job(txn: Transact) -> None:
    await txn(b":OUTP?")


async def _async_submit(rig: Rig) -> None:
    await (await rig.async_smu.submit(":OUTP?", priority=Priority.QUERY))


CALLS: dict[str, Callable[[Rig], object]] = {
    "query": lambda rig: rig.smu.query(":OUTP?"),
    "write": lambda rig: rig.smu.write(":OUTP OFF"),
    "submit": lambda rig: rig.smu.submit(":OUTP?", priority=Priority.QUERY),
    "latched": lambda rig: rig.smu.latched,
    "estop": lambda rig: rig.smu.estop(),
    "records": lambda rig: rig.safety.records,
    "history": lambda rig: rig.dispatcher.records,
    "rearm": lambda rig: rig.safety.rearm("go on"),
    "begin_test": lambda rig: rig.bench.begin_test("next"),
    "probe": lambda rig: rig.safety.probe(samples=1, backlog=1),
    "resources": lambda rig: rig.bench.resources("@sim"),
    "async query": lambda rig: asyncio.run(rig.async_smu.query(":OUTP?")),
    "async submit": lambda rig: asyncio.run(_async_submit(rig)),
    "async estop": lambda rig: asyncio.run(rig.async_smu.estop()),
    "job": lambda rig: asyncio.run(rig.dispatcher.run_job(_job, Priority.CONTROL)),
    "trip": lambda rig: asyncio.run(rig.dispatcher.trip("smoke")),
    "abort": lambda rig: asyncio.run(rig.dispatcher.abort_low_priority()),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_every_call_ends(frozen: Rig, call: Callable[[Rig], object]) -> None:
    with pytest.raises(LinkLost, match=SILENT) as caught:
        bounded(lambda: call(frozen))
    assert len(str(caught.value).splitlines()) == 1
    assert frozen.bench.lost is None, "it may come to itself: the E-stop is still sent to it"


def test_an_opening_ends(impatient: None, start: Callable[..., Rig]) -> None:
    del impatient
    rig = start(instruments="  load: {resource: 'GPIB0::8::INSTR', model: sim-load}\n")
    spec = rig.specs["load"]
    rig.kill(signal.SIGSTOP)
    del rig.bench.opened["load"]
    with pytest.raises(LinkLost, match=SILENT):
        bounded(lambda: rig.bench.open(spec))
    rig.kill(signal.SIGCONT)


def test_the_message_names_the_command(frozen: Rig) -> None:
    with pytest.raises(LinkLost, match=SILENT + r"smu: ':OUTP\?' was not answered in"):
        frozen.smu.query(":OUTP?")


def test_a_future_ends_though_nobody_waits_in_the_connection(impatient: None, own: Rig) -> None:
    del impatient
    with own.held():
        waiting = own.smu.submit(":OUTP?", priority=Priority.QUERY)
        own.kill(signal.SIGSTOP)
        done, _ = concurrent.futures.wait([waiting], 10)
        own.kill(signal.SIGCONT)
        assert done
        assert "does not answer" in str(waiting.exception())


def test_who_waits_for_others_is_given_the_time(impatient: None, own: Rig) -> None:
    """Longer than any patience: the supervisor answers, and only the link is on loan."""
    del impatient
    with own.held():
        waiting = own.smu.submit(":OUTP?", priority=Priority.QUERY, timeout_s=0.1)
        time.sleep(2.5)
        assert not waiting.done()
    assert waiting.result(10) == "0"


def test_a_long_transaction_is_given_its_time(impatient: None, start: Callable[..., Rig]) -> None:
    del impatient

    def slow(devices: dict[str, dict[str, dict[str, dict[str, str]]]]) -> None:
        devices["smu"]["traits"]["takes_s"][":READ?"] = "2.5"

    rig = start(slow)
    assert rig.smu.query(":READ?", timeout_s=6.0)


SETTLES = (
    "  load: {resource: 'GPIB0::8::INSTR', profile: {off: [':INP OFF'], settle_s: 2.0,"
    " confirm: {query: ':INP?', accept: ['0']}}}\n"
)


def test_the_estop_has_the_time_that_the_supervisor_announces(
    impatient: None, start: Callable[..., Rig]
) -> None:
    """Longer than any patience, as the bench is: no constant could know."""
    del impatient
    rig = start(instruments=SETTLES)
    report = rig.smu.estop()
    assert report.confirmed
    answer = begin_estop(rig.bench.connection, "again")
    assert rig.bench.connection.wait(answer)["confirmed"]
    # Three attempts, each with two commands of 2 s, the link to restore and 2 s to settle.
    assert 18.0 < answer.promise_s < 120.0


def test_a_message_that_is_not_taken_ends_the_connection(frozen: Rig) -> None:
    """Sending must not block for ever on a full buffer, nor go on in the middle of a message."""
    payload = b"*CLS" + b" " * (4 * 1024 * 1024)
    with pytest.raises(LinkLost, match="does not answer: it takes no message any more"):
        bounded(lambda: frozen.smu.write_raw(payload))
    assert frozen.bench.lost is not None
    with pytest.raises(LinkLost, match="takes no message"):
        bounded(frozen.smu.estop)
    frozen.kill(signal.SIGCONT)
    until(lambda: frozen.witness.is_off_and_read_back, "the end of the connection is the alarm")


def test_a_stopped_supervisor_still_switches_off_when_the_run_ends(frozen: Rig) -> None:
    with pytest.raises(LinkLost, match="the safe state at the end of the run was not answered"):
        frozen.close(15.0)
    assert frozen.witness.is_off_and_read_back
    assert is_gone(frozen.pid)


def test_a_stream_ends_with_its_thread(frozen: Rig) -> None:
    stream = frozen.smu.poll(":OUTP?", every_s=0.01)
    stream.start()
    with pytest.raises(LinkLost, match=SILENT):
        bounded(stream.stop)
    assert stream._thread is not None
    assert not stream._thread.is_alive()


def test_a_callback_that_waits_where_answers_are_read_is_refused(rig: Rig) -> None:
    """It would wait for what only its own thread can read."""
    raised: list[BaseException] = []
    over = threading.Event()

    def call_back(_: object) -> None:
        try:
            rig.smu.query("*IDN?")
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            raised.append(error)
        over.set()

    with rig.held():
        future = rig.smu.submit(":OUTP?", priority=Priority.QUERY)
        future.add_done_callback(call_back)
    assert over.wait(10)
    assert isinstance(raised[0], RuntimeError)
    assert "another thread" in str(raised[0])

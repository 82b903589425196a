from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from sim_instruments.faults import Effect, FaultPlan, Rule
from sim_instruments.framing import MAX_MESSAGE_BYTES
from sim_instruments.port import Port, Reply, Terminators
from sim_instruments.shared import SharedInstrument


@dataclass
class Answer:
    reply: str | None
    takes_s: float = 0.0
    lost: bool = False


@dataclass
class Echo:
    """Answers every message that asks with itself, and keeps a log of everything else."""

    client_limit: int | None = None
    takes_s: float = 0.0
    log: list[str] = field(default_factory=list)

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> Answer:
        text = message.decode()
        self.log.append(f"{text} {reply_waiting:d} {now_s:g}")
        return Answer(text if "?" in text else None, self.takes_s)

    def overrun(self) -> None:
        self.log.append("overrun")

    def interrupted(self) -> None:
        self.log.append("interrupted")

    def unterminated(self) -> None:
        self.log.append("unterminated")

    def device_clear(self) -> None:
        self.log.append("cleared")

    def status_byte(self, reply_waiting: bool) -> int:
        return 16 * reply_waiting

    def output(self) -> dict[str, bool]:
        return {}

    def set_trait(self, name: str, value: object) -> None:
        raise ValueError(f"no {name} to be {value}")


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shared(echo: Echo, clock: Clock) -> SharedInstrument:
    return SharedInstrument(echo, "echo", clock=clock)


def payloads(port: Port) -> list[bytes]:
    return [reply.payload for reply in iter(port.take, None)]


def test_unread_replies_are_kept_in_order(shared: SharedInstrument, echo: Echo) -> None:
    port = Port(shared, Terminators(b"\n", b"\r\n"))
    port.write(b"a?\nb\nc?\n")
    assert port.unread == 2
    assert payloads(port) == [b"a?\r\n", b"c?\r\n"]
    assert echo.log == ["a? 0 100", "b 1 100", "c? 1 100"]


def test_unread_replies_are_discarded_where_the_standard_says_so(
    shared: SharedInstrument, echo: Echo
) -> None:
    port = Port(shared, Terminators(), keeps_unread=False)
    port.write(b"a?", end=True)
    port.write(b"b?", end=True)
    assert payloads(port) == [b"b?\n"]
    assert echo.log == ["a? 0 100", "interrupted", "b? 0 100"]


def test_the_rest_of_a_reply_counts_as_unread(shared: SharedInstrument, echo: Echo) -> None:
    port = Port(shared, Terminators(), keeps_unread=False)
    port.write(b"abc?", end=True)
    reply = port.take()
    assert reply is not None
    port.put_back(Reply(reply.payload[2:], reply.effect))
    assert port.status_byte() == 16
    port.write(b"d", end=True)
    assert payloads(port) == []
    assert echo.log[1] == "interrupted"


def test_an_end_completes_a_message_without_terminator(shared: SharedInstrument) -> None:
    port = Port(shared, Terminators(b"\r\n", b"\n"))
    port.write(b"a")
    port.write(b"?", end=True)
    port.write(b"b?\r\n", end=True)
    port.write(b"c?\r", end=True)
    assert payloads(port) == [b"a?\n", b"b?\n", b"c?\r\n"]


def test_an_overlong_message_is_an_overrun_however_it_ends(
    shared: SharedInstrument, echo: Echo
) -> None:
    port = Port(shared, Terminators())
    port.write(b"x" * (MAX_MESSAGE_BYTES + 1) + b"\n")
    port.write(b"x" * (2 * MAX_MESSAGE_BYTES), end=True)
    port.write(b"a\n")
    assert echo.log == ["overrun", "overrun", "a 0 100"]


def test_a_reply_is_due_after_those_of_every_other_client(
    shared: SharedInstrument, echo: Echo, clock: Clock
) -> None:
    echo.takes_s = 2.0
    first, second = Port(shared, Terminators()), Port(shared, Terminators())
    first.write(b"a?\n")
    clock.now_s = 101.0
    second.write(b"b?\n")
    assert (first.due_s(), second.due_s()) == (102.0, 104.0)
    clock.now_s = 103.0
    assert (payloads(first), payloads(second)) == ([b"a?\n"], [])
    clock.now_s = 104.0
    assert payloads(second) == [b"b?\n"]
    assert second.due_s() is None


def test_a_device_clear_forgets_what_was_begun(shared: SharedInstrument, echo: Echo) -> None:
    port = Port(shared, Terminators())
    port.write(b"a?\nhalf")
    port.clear()
    port.write(b"b?\n")
    assert payloads(port) == [b"b?\n"]
    assert echo.log == ["a? 0 100", "cleared", "b? 0 100"]


def test_reading_without_a_query_is_told_to_the_instrument(
    shared: SharedInstrument, echo: Echo
) -> None:
    Port(shared, Terminators()).read_without_query()
    assert echo.log == ["unterminated"]


def test_faults_strike_the_reply_and_what_befalls_comes_after_execution(
    shared: SharedInstrument, echo: Echo
) -> None:
    faults = FaultPlan(random.Random(1))
    faults.add(Rule("no_reply", pattern="a"))
    faults.add(Rule("delay", pattern="b", seconds=1))
    faults.add(Rule("drop", pattern="off"))
    befell: list[tuple[Effect, int]] = []
    port = Port(
        shared,
        Terminators(),
        faults=faults,
        befall=lambda effect: befell.append((effect, len(echo.log))),
    )
    port.write(b"a?\nb?\noff\n")
    assert [(r.payload, r.effect.delay_s) for r in iter(port.take, None)] == [(b"b?\n", 1)]
    assert befell == [(Effect(happenings=(("drop", None),)), 3)]


def test_closing_tells_once(shared: SharedInstrument) -> None:
    closed: list[Port] = []
    port = Port(shared, Terminators(), closed=closed.append)
    port.close()
    port.close()
    assert closed == [port]

"""A command's life: every pair of the table LIFE, and what makes two commands the same."""

import itertools
from typing import get_args

import pytest

from pytest_safetyq.scheduling import LIFE, Command, Priority
from pytest_safetyq.scheduling.command import Event, State

STATES = get_args(State)
EVENTS = get_args(Event)

LEGAL = {
    ("new", "enqueue"): "waiting",
    ("new", "coalesce"): "attached",
    ("new", "refuse"): "ended",
    ("waiting", "dispatch"): "in flight",
    ("waiting", "withdraw"): "ended",
    ("in flight", "finish"): "ended",
    ("attached", "finish"): "ended",
}


def command(cmd_id: str = "c", payload: bytes = b"X", *, timeout_s: float | None = 1.0) -> Command:
    return Command(
        cmd_id,
        payload,
        Priority.QUERY,
        timeout_s=timeout_s,
        expects_reply=False,
        submitted_s=3.0,
    )


def test_the_states_and_events_are_those_of_the_table() -> None:
    assert {state for state, _ in LEGAL} | set(LEGAL.values()) == set(STATES)
    assert {event for _, event in LEGAL} == set(EVENTS)
    assert LIFE == LEGAL


@pytest.mark.parametrize(("state", "event"), list(itertools.product(STATES, EVENTS)))
def test_every_pair_is_a_listed_transition_or_an_error(state: State, event: Event) -> None:
    one = command()
    one.state = state
    if (state, event) in LEGAL:
        one.advance(event)
        assert one.state == LEGAL[state, event]
    else:
        with pytest.raises(KeyError):
            one.advance(event)
        assert one.state == state


def test_nothing_leaves_ended() -> None:
    assert not [pair for pair in LIFE if pair[0] == "ended"]


def test_a_new_command_counts_its_wait_from_its_submission() -> None:
    one = command()
    assert one.state == "new"
    assert one.enqueued_s == one.submitted_s == 3.0


def test_the_budget_is_kept_in_whole_nanoseconds() -> None:
    assert command(timeout_s=0.2).budget_ns == 200_000_000
    assert command(timeout_s=None).budget_ns is None


def test_name_and_payload_make_the_key() -> None:
    assert command("a", b"X").key == command("a", b"X").key
    assert command("a", b"X").key != command("b", b"X").key
    assert command("a", b"X").key != command("a", b"Y").key

"""The latch: every pair of the table LATCH, and what is latched."""

import itertools

import pytest

from pytest_safetyq.scheduling import Latch, LatchEvent, LatchState
from pytest_safetyq.scheduling.latch import LATCH

ARMED, TRIPPED, SAFE = LatchState.ARMED, LatchState.TRIPPED, LatchState.SAFE
TRIP, CONFIRM, REARM = LatchEvent.TRIP, LatchEvent.CONFIRM, LatchEvent.REARM

EXPECTED = {
    (ARMED, TRIP): TRIPPED,
    (TRIPPED, TRIP): TRIPPED,
    (SAFE, TRIP): TRIPPED,
    (ARMED, CONFIRM): ARMED,
    (TRIPPED, CONFIRM): SAFE,
    (SAFE, CONFIRM): SAFE,
    (ARMED, REARM): ARMED,
    (SAFE, REARM): ARMED,
}


def test_the_table_is_the_one_that_was_decided() -> None:
    assert LATCH == EXPECTED


@pytest.mark.parametrize(("state", "event"), list(itertools.product(LatchState, LatchEvent)))
def test_every_pair_moves_as_listed_or_is_refused(state: LatchState, event: LatchEvent) -> None:
    latch = Latch()
    latch.state = state
    accepted = latch.apply(event)
    assert accepted is ((state, event) in EXPECTED)
    assert latch.state is EXPECTED.get((state, event), state)


def test_a_tripped_latch_is_not_released_before_the_safe_state_is_confirmed() -> None:
    latch = Latch()
    latch.apply(TRIP)
    assert latch.apply(REARM) is False
    assert latch.latched
    assert latch.apply(CONFIRM)
    assert latch.latched
    assert latch.apply(REARM)
    assert not latch.latched


@pytest.mark.parametrize("state", list(LatchState))
def test_everything_but_armed_is_latched(state: LatchState) -> None:
    latch = Latch()
    latch.state = state
    assert latch.latched is (state is not ARMED)


def test_a_new_latch_is_armed_and_has_no_reason() -> None:
    latch = Latch()
    assert latch.state is ARMED
    assert latch.reason == ""

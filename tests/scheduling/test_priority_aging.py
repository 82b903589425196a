"""The effective priority of a waiting command: the contract's formula."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq import AGE_FLOOR, Priority
from pytest_safetyq.scheduling import effective_priority


def test_the_priorities_are_numbered_by_urgency() -> None:
    assert [(p.name, p.value) for p in Priority] == [
        ("SAFETY", 0),
        ("CONTROL", 1),
        ("QUERY", 2),
        ("POLL", 3),
    ]
    assert AGE_FLOOR is Priority.CONTROL


@pytest.mark.parametrize(
    ("base", "waited_s", "expected"),
    [
        (Priority.POLL, 0.0, Priority.POLL),
        (Priority.POLL, 1.999, Priority.POLL),
        (Priority.POLL, 2.0, Priority.QUERY),
        (Priority.POLL, 3.999, Priority.QUERY),
        (Priority.POLL, 4.0, Priority.CONTROL),
        (Priority.POLL, 1e9, Priority.CONTROL),
        (Priority.QUERY, 1.999, Priority.QUERY),
        (Priority.QUERY, 2.0, Priority.CONTROL),
        (Priority.QUERY, 1e9, Priority.CONTROL),
        (Priority.CONTROL, 1e9, Priority.CONTROL),
        (Priority.SAFETY, 1e9, Priority.SAFETY),
    ],
)
def test_a_command_rises_one_level_per_tau(
    base: Priority, waited_s: float, expected: Priority
) -> None:
    assert effective_priority(base, waited_s, 2.0) is expected


@pytest.mark.parametrize("tau_age_s", [0.0, -0.0, -1.0, -math.inf])
@pytest.mark.parametrize("base", list(Priority))
def test_a_tau_of_zero_or_less_switches_aging_off(base: Priority, tau_age_s: float) -> None:
    assert effective_priority(base, 1e12, tau_age_s) is base


@pytest.mark.parametrize("base", list(Priority))
def test_an_infinite_tau_never_raises_anything(base: Priority) -> None:
    assert effective_priority(base, 1e12, math.inf) is base


@given(
    st.sampled_from(list(Priority)),
    st.integers(0, 10**6),
    st.integers(1, 10**6),
)
def test_it_is_the_formula_of_the_contract(base: Priority, waited: int, tau: int) -> None:
    raised = math.floor(Fraction(waited, tau))
    expected = base if base == Priority.SAFETY else max(1, base - raised)
    assert effective_priority(base, waited / 64, tau / 64) == expected


@given(
    st.sampled_from(list(Priority)),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    st.floats(min_value=5e-324, max_value=1e9),
)
def test_waiting_longer_never_lowers_a_command(
    base: Priority, one_s: float, other_s: float, tau_age_s: float
) -> None:
    shorter, longer = sorted((one_s, other_s))
    assert effective_priority(base, longer, tau_age_s) <= effective_priority(
        base, shorter, tau_age_s
    )

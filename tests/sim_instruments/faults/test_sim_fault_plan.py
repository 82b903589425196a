from __future__ import annotations

import random

import pytest

from sim_instruments.faults import UNHARMED, Effect, FaultPlan, Rule


def plan(*rules: Rule, seed: int = 1) -> FaultPlan:
    made = FaultPlan(random.Random(seed))
    for rule in rules:
        made.add(rule)
    return made


def struck(made: FaultPlan, messages: list[bytes]) -> list[bool]:
    return [made.decide(message) is not UNHARMED for message in messages]


def test_without_rules_nothing_is_struck() -> None:
    assert plan().decide(b"*IDN?") is UNHARMED


def test_a_pattern_is_looked_for_in_either_case() -> None:
    made = plan(Rule("no_reply", pattern=r"^:?outp\w*\?$"))
    assert struck(made, [b"OUTP?", b":outp?", b"OUTP OFF", b"*IDN?"]) == [True, True, False, False]


def test_skip_and_count_count_matching_messages_only() -> None:
    made = plan(Rule("no_reply", pattern="IDN", skip=1, count=2))
    messages = [b"*IDN?", b"OUTP?", b"*IDN?", b"OUTP?", b"*IDN?", b"*IDN?"]
    assert struck(made, messages) == [False, False, True, False, True, False]
    assert made.rules == []


def test_chance_is_repeatable_and_of_about_its_rate() -> None:
    messages = [b"*IDN?"] * 1000
    first, again, other = (
        struck(plan(Rule("drop", rate=0.3), seed=seed), messages) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert 250 < sum(first) < 350


def test_a_new_seed_begins_chance_anew() -> None:
    made = plan(Rule("drop", rate=0.5))
    made.seed("a")
    first = struck(made, [b"x"] * 50)
    made.seed("a")
    assert struck(made, [b"x"] * 50) == first


def test_rules_add_up() -> None:
    made = plan(
        Rule("delay", seconds=0.1),
        Rule("delay", seconds=0.2),
        Rule("garbage", data="ff00"),
        Rule("fragment", size=3, seconds=0.5),
        Rule("stall", seconds=2),
        Rule("drop"),
    )
    effect = made.decide(b"*IDN?")
    assert effect.delay_s == pytest.approx(0.3)
    assert effect == Effect(
        effect.delay_s, 3, 0.5, b"\xff\x00", happenings=(("stall", 2), ("drop", None))
    )


def test_pieces_are_the_frame_with_its_garbage_and_nothing_else() -> None:
    assert Effect(piece_size=2, garbage=b"!").pieces(b"abcd") == [b"!a", b"bc", b"d"]
    assert Effect().pieces(b"abcd") == [b"abcd"]
    assert Effect(piece_size=1).pieces(b"") == []


def test_garbage_that_is_not_given_is_drawn() -> None:
    first, second = (plan(Rule("garbage"), seed=seed).decide(b"x").garbage for seed in (1, 2))
    assert len(first) == len(second) == 8
    assert first != second


def test_a_sticky_lock_is_decided_when_a_client_dies_and_strikes_no_message() -> None:
    made = plan(Rule("sticky_lock", count=1))
    assert made.decide(b"*IDN?") is UNHARMED
    assert [made.lock_outlives_its_client() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"pattern": "("}, r"pattern '\('"),
        ({"skip": -1}, "skip must be 0 or more, not -1"),
        ({"count": 0}, "count must be 1 or more, not 0"),
        ({"rate": 0.0}, "rate must be above 0 and at most 1"),
        ({"rate": 1.5}, "rate must be above 0 and at most 1"),
        ({"seconds": -0.1}, "seconds must be 0 or more"),
        ({"seconds": float("nan")}, "seconds must be 0 or more"),
        ({"size": 0}, "size must be 1 or more"),
        ({"data": "xyz"}, "hexadecimal"),
    ],
)
def test_a_mistake_in_a_rule_is_one_line(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        Rule("delay", **wrong)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)

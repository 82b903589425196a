"""`TransactionRecord`: its fields, its properties, and that nobody changes it."""

import dataclasses
import math
from typing import Any

import pytest

from pytest_safetyq import Priority, TransactionRecord
from pytest_safetyq.scheduling import is_over_bound

FIELDS: dict[str, Any] = {
    "instrument": "smu",
    "cmd_id": "estop",
    "payload": b"OUTP OFF",
    "priority": Priority.SAFETY,
    "effective_priority": Priority.SAFETY,
    "submitted_s": 1.0,
    "dispatched_s": 1.25,
    "written_s": 1.5,
    "finished_s": 2.25,
    "bound_s": 0.5,
    "outcome": "ok",
}


def test_the_fields_are_those_of_the_contract_in_its_order() -> None:
    assert [field.name for field in dataclasses.fields(TransactionRecord)] == list(FIELDS)


@pytest.mark.parametrize("name", list(FIELDS))
def test_no_field_can_be_changed(name: str) -> None:
    record = TransactionRecord(**FIELDS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, name, FIELDS[name])


def test_the_latency_is_from_submission_to_the_first_byte() -> None:
    assert TransactionRecord(**FIELDS).dispatch_latency_s == 0.25


def test_the_service_is_from_the_first_byte_to_the_outcome() -> None:
    assert TransactionRecord(**FIELDS).service_s == 1.0


def test_what_was_never_dispatched_has_neither() -> None:
    record = TransactionRecord(**{**FIELDS, "dispatched_s": None, "written_s": None})
    assert record.dispatch_latency_s is None
    assert record.service_s is None


def test_what_has_not_finished_has_no_service() -> None:
    assert TransactionRecord(**{**FIELDS, "finished_s": None}).service_s is None


@pytest.mark.parametrize(
    ("dispatched_s", "bound_s", "slack_s", "over"),
    [
        (1.5, 0.5, 0.0, False),
        (1.75, 0.5, 0.0, True),
        (1.75, 0.5, 0.25, False),
        (2.0, 0.5, 0.25, True),
        (None, 0.5, 0.25, True),
        (None, math.inf, 0.0, False),
        (1e9, math.inf, 0.0, False),
        (math.nan, 0.5, 0.25, True),
        (1.5, math.nan, 0.25, True),
    ],
)
def test_what_is_not_known_to_have_kept_its_bound_is_over_it(
    dispatched_s: float | None, bound_s: float, slack_s: float, over: bool
) -> None:
    record = TransactionRecord(**{**FIELDS, "dispatched_s": dispatched_s, "bound_s": bound_s})
    assert is_over_bound(record, slack_s) is over

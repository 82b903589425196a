"""The public names, pinned: adding or losing one is a decision and no accident."""

import asyncio

import pytest

import pytest_safetyq
from pytest_safetyq.plugin import entry, fixtures
from pytest_safetyq.plugin.markers import SafetyLatency


def test_the_package_exports_what_the_contract_lists() -> None:
    assert sorted(pytest_safetyq.__all__) == sorted(
        [
            "Priority",
            "AGE_FLOOR",
            "SafetyAwareDispatcher",
            "TransactionRecord",
            "Instrument",
            "AsyncInstrument",
            "EStopReport",
            "SafetyError",
            "TransactionTimeout",
            "BacklogFull",
            "Preempted",
            "EStopLatched",
            "LinkLost",
            "SafeStateUnconfirmed",
            "LimitExceeded",
        ]
    )


@pytest.mark.parametrize("name", pytest_safetyq.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(pytest_safetyq, name) is not None
    assert name in dir(pytest_safetyq)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = pytest_safetyq.Nothing  # type: ignore[attr-defined]


def test_the_exceptions_are_also_what_users_catch_already() -> None:
    assert issubclass(pytest_safetyq.TransactionTimeout, TimeoutError)
    assert issubclass(pytest_safetyq.BacklogFull, asyncio.QueueFull)
    assert issubclass(pytest_safetyq.LinkLost, ConnectionError)
    family = [
        getattr(pytest_safetyq, name)
        for name in pytest_safetyq.__all__
        if isinstance(getattr(pytest_safetyq, name), type)
        and issubclass(getattr(pytest_safetyq, name), Exception)
    ]
    assert len(family) == 8
    assert all(issubclass(kind, pytest_safetyq.SafetyError) for kind in family)


def test_priorities_have_the_contracts_numbers() -> None:
    names = {p.name: p.value for p in pytest_safetyq.Priority}
    assert names == {"SAFETY": 0, "CONTROL": 1, "QUERY": 2, "POLL": 3}
    assert pytest_safetyq.AGE_FLOOR is pytest_safetyq.Priority.CONTROL


def test_the_fixtures_are_those_of_the_contract() -> None:
    assert set(entry.__all__) - {fixtures.GUARD} == fixtures.NAMES


def test_the_latency_marker_has_the_contracts_arguments_and_defaults() -> None:
    mark = SafetyLatency()
    assert (mark.max_ms, mark.percentile, mark.min_samples) == (None, 100, 1)
    assert (mark.within_bound, mark.slack_ms, mark.instrument) == (True, 5.0, None)

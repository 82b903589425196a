"""Evidence on its way: as plain data, which pytest's reports and xdist's workers can carry."""

from typing import Any

import msgspec

from pytest_safetyq.bench.reports import EStopReport
from pytest_safetyq.plugin.evidence.model import RunEvidence, TestEvidence

Parcel = dict[str, Any]


def pack_test(test: TestEvidence, outcome: str) -> Parcel:
    """Return a test and its outcome as plain data."""
    return {"test": msgspec.to_builtins(test), "outcome": outcome}


def unpack_test(parcel: Parcel, run: RunEvidence) -> None:
    """Add to ``run`` what `pack_test` has packed."""
    run.add(msgspec.convert(parcel["test"], TestEvidence), parcel["outcome"])


def pack_worker(run: RunEvidence, cut: list[Parcel]) -> Parcel:
    """Return what a worker knows at its end and no report of a test has carried.

    Args:
        run: The evidence of the worker.
        cut: The test that was cut short, packed, if one was.
    """
    return {
        "cut": cut,
        "endings": msgspec.to_builtins(run.endings),
        "unconfirmed": list(run.unconfirmed),
    }


def unpack_worker(parcel: Parcel, run: RunEvidence) -> None:
    """Add to ``run`` what `pack_worker` has packed."""
    for test in parcel["cut"]:
        unpack_test(test, run)
    run.endings += msgspec.convert(parcel["endings"], list[EStopReport])
    run.unconfirmed += parcel["unconfirmed"]

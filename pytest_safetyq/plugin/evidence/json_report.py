"""The evidence as JSON: all of it, for other programs."""

from pathlib import Path
from typing import Any

import msgspec

from pytest_safetyq.bench.reports import DISPATCH_SLACK_S
from pytest_safetyq.plugin.evidence.atomic import replace_file
from pytest_safetyq.plugin.evidence.dispatches import summarise
from pytest_safetyq.plugin.evidence.model import RunEvidence
from pytest_safetyq.plugin.evidence.summary import records_of

SCHEMA = 1
"""Counts up when a field changes its meaning or goes; a new field doesn't count."""


def write_json(run: RunEvidence, path: Path) -> None:
    """Write the evidence to ``path``, all of it or nothing.

    The fields are those of `RunEvidence` in their order, and before them:

    - ``schema``: `SCHEMA`.
    - ``payload_encoding``: ``latin-1``. A payload is text in which each character is one
      byte, so ``payload.encode("latin-1")`` gives exactly what was sent.
    - ``slack_s``: what a dispatch may take beyond its bound before it counts as over it.
    - ``summary``: the safety dispatches of each instrument, a `DispatchSummary`.

    Times are seconds; one that is infinite or not a number is ``null``.

    Raises:
        OSError: The file can't be written; one that was there before is as it was.
    """
    replace_file(path, msgspec.json.format(msgspec.json.encode(_document(run)), indent=2))


def _document(run: RunEvidence) -> dict[str, Any]:
    # The keys of dictionaries in their own order: tests end in another order each time.
    evidence = msgspec.to_builtins(run, builtin_types=(bytes,), order="deterministic")
    for test in evidence["tests"]:
        for record in test["records"]:
            record["payload"] = record["payload"].decode("latin-1")
    return {
        "schema": SCHEMA,
        "payload_encoding": "latin-1",
        "slack_s": DISPATCH_SLACK_S,
        "summary": msgspec.to_builtins(summarise(records_of(run))),
        **evidence,
    }

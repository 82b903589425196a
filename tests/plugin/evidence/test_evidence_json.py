"""The JSON report: complete, stable, and written as a whole or not at all."""

import json
import math
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_evidence_samples import any_record, empty_run, estop, run_of, sample

from pytest_safetyq import TransactionRecord
from pytest_safetyq.plugin.evidence.atomic import replace_file
from pytest_safetyq.plugin.evidence.json_report import write_json
from pytest_safetyq.plugin.evidence.model import RunEvidence


def written(run: RunEvidence, folder: Path) -> dict[str, Any]:
    write_json(run, folder / "report.json")
    document: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    return document


def read_back(document: dict[str, Any]) -> RunEvidence:
    """Undo what the report says it did."""
    for test in document["tests"]:
        for record in test["records"]:
            record["payload"] = record["payload"].encode(document["payload_encoding"])
            record["bound_s"] = math.inf if record["bound_s"] is None else record["bound_s"]
    return msgspec.convert(document, RunEvidence)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(any_record(), max_size=5))
def test_all_of_the_evidence_can_be_read_back(
    tmp_path: Path, records: list[TransactionRecord]
) -> None:
    run = run_of(*records, estops=[estop(), estop(confirmed=False)])
    assert read_back(written(run, tmp_path)) == run


def test_an_empty_run_is_a_report_too(tmp_path: Path) -> None:
    document = written(empty_run(), tmp_path)
    assert read_back(document) == empty_run()
    assert list(document) == [
        "schema",
        "payload_encoding",
        "slack_s",
        "summary",
        "started",
        "version",
        "tests",
        "outcomes",
        "endings",
        "unconfirmed",
    ]
    assert document["schema"] == 1
    assert document["slack_s"] == 0.005


def test_a_payload_is_text_of_one_character_a_byte(tmp_path: Path) -> None:
    document = written(run_of(sample(payload=b"#14\x00\xff\x80\n")), tmp_path)
    assert document["tests"][0]["records"][0]["payload"] == "#14\x00\xff\x80\n"


def test_what_is_not_a_number_is_null(tmp_path: Path) -> None:
    document = written(run_of(sample(None, bound_s=math.inf), sample(math.nan)), tmp_path)
    first, second = document["tests"][0]["records"]
    assert first["bound_s"] is None
    assert second["dispatched_s"] is None


def test_the_order_of_outcomes_does_not_depend_on_the_order_of_the_tests(tmp_path: Path) -> None:
    run = empty_run()
    run.outcomes = {"b": "passed", "a": "failed"}
    assert list(written(run, tmp_path)["outcomes"]) == ["a", "b"]


def test_ten_thousand_records_are_written(tmp_path: Path) -> None:
    document = written(run_of(*[sample(submitted_s=float(i)) for i in range(10_000)]), tmp_path)
    assert document["summary"][0]["n"] == 10_000


def test_a_failed_write_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def write_half(draft: Path, content: bytes) -> int:
        with draft.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="No space left"):
        write_json(run_of(sample()), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_replaced_file_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["report.json"]

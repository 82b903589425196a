"""Which writer a name gets, and that a bad name is one line that says what would be right."""

from pathlib import Path

import pytest
from test_evidence_samples import run_of, sample

from pytest_safetyq.plugin.evidence.html_report import write_html
from pytest_safetyq.plugin.evidence.json_report import write_json
from pytest_safetyq.plugin.evidence.writers import Writer, check_place, writer_for


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("a.json", write_json),
        ("a.JSON", write_json),
        ("a.html", write_html),
        ("a.b.Html", write_html),
    ],
)
def test_the_ending_decides(tmp_path: Path, name: str, writer: Writer) -> None:
    found = writer_for(str(tmp_path / name))
    assert found is writer
    found(run_of(sample()), tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0


def test_a_bare_name_is_a_file_in_this_folder() -> None:
    assert writer_for("report.json") is write_json


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("report.txt", 'unknown ending ".txt"; write a name that ends in .json or .html'),
        ("report", "no ending; write a name that ends in .json or .html"),
        ("", "no ending; write a name that ends in .json or .html"),
    ],
)
def test_another_ending_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match="ending") as caught:
        writer_for(name)
    assert str(caught.value) == f"--safetyq-report {name}: {message}"


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "a.json"
    with pytest.raises(ValueError, match="folder") as caught:
        writer_for(str(path))
    assert str(caught.value) == (
        f"--safetyq-report {path}: there is no folder {path.parent}; create it, or name another"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--safetyq-trace .*: that is a folder; name a file"):
        check_place("--safetyq-trace", str(tmp_path))

"""The HTML report: well-formed, self-contained, and nothing in it but what we wrote."""

import math
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_evidence_samples import SCRIPT, any_record, empty_run, estop, instrument, run_of, sample

from pytest_safetyq import TransactionRecord
from pytest_safetyq.plugin.evidence.html_report import DISPATCHES_SHOWN, write_html
from pytest_safetyq.plugin.evidence.model import RunEvidence

VOID = {"meta"}
KNOWN = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "strong"}
KNOWN |= {"span", "div", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code"}
KNOWN |= {"details", "summary", "svg", "rect"}


class Page(HTMLParser):
    """Checks that every element is one of ours and is closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.opened = 0
        self.feed(source)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN
        self.attributes += attrs
        self.opened += ("open", None) in attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] != "style":
            self.text += data


def page(run: RunEvidence, folder: Path) -> Page:
    write_html(run, folder / "report.html")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    records=st.lists(any_record(), max_size=5),
    nodeid=st.text(max_size=30),
    reply=st.text(max_size=10),
)
def test_whatever_the_evidence_the_page_is_well_formed(
    tmp_path: Path, records: list[TransactionRecord], nodeid: str, reply: str
) -> None:
    found = page(run_of(*records, nodeid=nodeid, estops=[estop(reply=reply)]), tmp_path)
    assert "All CONFIRMED" in found.text


def test_the_safe_state_at_the_end_of_the_run_is_shown(tmp_path: Path) -> None:
    run = empty_run()
    run.endings.append(estop(reason="the last word"))
    found = page(run, tmp_path)
    assert "the last word" in found.text
    assert "All CONFIRMED" in found.text


def test_markup_in_the_evidence_is_text(tmp_path: Path) -> None:
    bad = estop(confirmed=False, reply=SCRIPT + "reply", reason=SCRIPT + "reason")
    run = run_of(
        sample(payload=SCRIPT.encode(), instrument=SCRIPT),
        nodeid=SCRIPT + "nodeid",
        outcome=SCRIPT + "outcome",
        estops=[bad],
        instruments=[instrument(SCRIPT + "name")],
    )
    run.started = SCRIPT + "started"
    run.version = SCRIPT + "version"
    run.unconfirmed = [SCRIPT + "unconfirmed"]
    found = page(run, tmp_path)
    words = ["reply", "reason", "nodeid", "outcome", "name", "started", "version", "unconfirmed"]
    for word in words:
        assert SCRIPT + word in found.text
    assert "<script" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_dollar_sign_is_no_placeholder(tmp_path: Path) -> None:
    assert "$tests ${title}" in page(run_of(nodeid="$tests ${title}"), tmp_path).text


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    found = page(run_of(sample()), tmp_path)
    assert not {"src", "href", "style", "onclick"} & {name for name, _ in found.attributes}
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "url(" not in source
    assert "@import" not in source
    assert "default-src 'none'" in source


@pytest.mark.parametrize("unseen", ["\x00", "\x1b[31m", "\ud800", "\u202e"])
def test_characters_that_nobody_sees_are_shown_as_escapes(tmp_path: Path, unseen: str) -> None:
    found = page(run_of(nodeid=f"test[{unseen}]"), tmp_path)
    assert f"test[{repr(unseen)[1:-1]}]" in found.text


def test_an_empty_run_claims_nothing(tmp_path: Path) -> None:
    text = page(empty_run(), tmp_path).text
    assert "No safe state was asked for" in text
    assert "No test used the bench" in text
    assert "CONFIRMED" not in text


def test_the_headline_counts_what_is_unconfirmed(tmp_path: Path) -> None:
    run = run_of(estops=[estop(confirmed=False)], outcome="failed")
    run.unconfirmed = ["the bench: lost"]
    found = page(run, tmp_path)
    assert "2 UNCONFIRMED - safetyq" in found.text
    assert "the bench: lost" in found.text
    assert found.opened == 1


def test_a_dispatch_over_its_bound_stands_out(tmp_path: Path) -> None:
    found = page(run_of(sample(0.5, bound_s=0.1)), tmp_path)
    assert "All CONFIRMED, 1 OVER BOUND" in found.text
    assert ("class", "over") in found.attributes
    assert found.opened == 1


def test_a_good_test_is_folded(tmp_path: Path) -> None:
    found = page(run_of(sample(0.5, bound_s=1.995)), tmp_path)
    assert found.opened == 0
    assert ("width", "25.0") in found.attributes
    assert "25.000%" in found.text


@pytest.mark.parametrize(
    ("latency", "bound", "shown"),
    [
        (math.nan, 2.0, "OVER BOUND"),
        (0.001, math.nan, "OVER BOUND"),
        (0.001, 0.0, "20.000%"),
        (0.001, math.inf, "0.000%"),
    ],
)
def test_odd_latencies_have_a_bar(tmp_path: Path, latency: float, bound: float, shown: str) -> None:
    assert shown in page(run_of(sample(latency, bound_s=bound)), tmp_path).text


def test_ten_thousand_records_give_a_short_page(tmp_path: Path) -> None:
    found = page(run_of(*[sample(submitted_s=float(i)) for i in range(10_000)]), tmp_path)
    assert "Safety dispatches: 10000" in found.text
    assert f"{10_000 - DISPATCHES_SHOWN} more were sent, none of them slower." in found.text


def test_instruments_say_real_or_simulated(tmp_path: Path) -> None:
    run = run_of(instruments=[instrument(), instrument("laser", simulated=False)])
    found = page(run, tmp_path)
    assert ("class", "badge REAL") in found.attributes
    assert ("class", "badge SIMULATED") in found.attributes

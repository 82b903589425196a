"""The evidence as one HTML file to hand to whoever audits the bench.

Nothing in it comes from elsewhere and nothing runs: no script, no image, no font. Text from
tests and instruments goes through `_text` alone, which escapes it; `Html` is what has.
"""

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import NewType

from pytest_safetyq.bench.reports import DISPATCH_SLACK_S, EStopReport, EStopStep
from pytest_safetyq.plugin.evidence.atomic import replace_file
from pytest_safetyq.plugin.evidence.dispatches import (
    command_text,
    latency_s,
    ms,
    safety_dispatches,
    slowest,
)
from pytest_safetyq.plugin.evidence.model import RunEvidence, TestEvidence
from pytest_safetyq.plugin.evidence.summary import (
    InstrumentSummary,
    instrument_summaries,
    records_of,
    safe_states,
    unconfirmed,
)
from pytest_safetyq.scheduling import TransactionRecord, is_over_bound

Html = NewType("Html", str)

DISPATCHES_SHOWN = 100
"""How many dispatches of one test are listed at most; the JSON report has them all."""

SLACK = f"{DISPATCH_SLACK_S * 1000:g} ms"

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { --ink: #1c2126; --soft: #5b6670; --paper: #fff; --line: #d9dee3;
  --good: #1a6e3a; --bad: #b3261e; --real: #8a4b00; --bar: #4a6f96; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5af;
  --paper: #16191c; --line: #343b42; --good: #6cc58a; --bad: #ff8a80; --real: #f0b060;
  --bar: #7fa6d0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 82rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; } p { margin: .3rem 0; }
.verdict { border-left: .4rem solid; padding: .5rem 1rem; margin: 1.2rem 0; }
.verdict strong { font-size: 1.25rem; } .verdict span, .verdict li { color: var(--ink); }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid; border-radius: .25rem;
  padding: .05rem .4rem; white-space: nowrap; }
.REAL { color: var(--real); } .SIMULATED { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .85rem; color: var(--soft); white-space: nowrap; }
.n { text-align: right; white-space: nowrap; }
code { font: .87em ui-monospace, monospace; overflow-wrap: anywhere; }
details { border-bottom: 1px solid var(--line); padding: .45rem 0; }
details > div { padding: 0 0 .8rem 1.2rem; } summary { cursor: pointer; }
svg { vertical-align: middle; } .track { fill: var(--line); } .kept { fill: var(--bar); }
.over { fill: var(--bad); }
</style>
</head>
<body>
<h1>Safe state and safety dispatches</h1>
<p class="soft">$origin</p>
$verdict
<h2>Instruments</h2>
$instruments
<p class="soft">Latency: from the submission of a safety command to its first byte on the
link. Every dispatch has its own bound on the wait for the link, computed when it was submitted,
0 when the link is idle; the processes may take $slack more. Shown is the bound of the
slowest dispatch. p50 and p99 are nearest rank.</p>
<h2>Tests</h2>
$tests
<h2>End of the run</h2>
$endings
</body>
</html>
""")


_NOTHING_OPEN = Html("<p>No instrument was open.</p>")


def write_html(run: RunEvidence, path: Path) -> None:
    """Write the evidence to ``path``, all of it or nothing.

    Raises:
        OSError: The file can't be written; one that was there before is as it was.
    """
    page = PAGE.substitute(
        title=_text(f"{_headline(run)} - safetyq"),
        origin=_text(f"Run of {run.started}, pytest-safetyq {run.version}"),
        verdict=_verdict(run),
        instruments=_instruments(instrument_summaries(run)),
        slack=SLACK,
        tests=_tests(run),
        endings=_join(map(_estop, run.endings)) or _NOTHING_OPEN,
    )
    replace_file(path, page.encode())


def _text(value: object) -> Html:
    """Return ``value`` such that it is nothing but text, wherever it stands."""
    # A character that nobody can see, or that UTF-8 can't encode, is shown as its escape.
    visible = (c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return Html(html.escape("".join(visible)))


def _join(parts: Iterable[Html]) -> Html:
    return Html("\n".join(parts))


def _code(value: object) -> Html:
    return Html(f"<code>{_text(value)}</code>")


def _badge(word: str, kind: str) -> Html:
    return Html(f'<span class="badge {_text(kind)}">{_text(word)}</span>')


def _passing(word: str, *, good: bool) -> Html:
    return _badge(word, "good" if good else "bad")


def _table(head: Sequence[str], rows: Iterable[Sequence[Html]]) -> Html:
    """Return a table; the columns whose head ends in a colon hold numbers."""
    marks = [' class="n"' if name.endswith(":") else "" for name in head]
    titles = "".join(
        f"<th{mark}>{_text(name.rstrip(':'))}</th>" for name, mark in zip(head, marks, strict=True)
    )
    body = _join(
        Html(
            "<tr>"
            + "".join(f"<td{m}>{cell}</td>" for cell, m in zip(row, marks, strict=True))
            + "</tr>"
        )
        for row in rows
    )
    return Html(
        f'<div class="wide"><table>\n<thead><tr>{titles}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _headline(run: RunEvidence) -> str:
    if unsafe := unconfirmed(run):
        return f"{len(unsafe)} UNCONFIRMED"
    if not safe_states(run):
        return "No safe state was asked for"
    over = sum(map(_is_over, safety_dispatches(records_of(run))))
    return f"All CONFIRMED, {over} OVER BOUND" if over else "All CONFIRMED"


def _verdict(run: RunEvidence) -> Html:
    unsafe, sent = unconfirmed(run), safety_dispatches(records_of(run))
    over = sum(map(_is_over, sent))
    kept = f"{over} OVER BOUND" if over else f"none over its own bound and {SLACK}"
    items = "".join(f"<li>{_text(what)}</li>" for what in unsafe)
    return Html(
        f'<div class="verdict {"bad" if unsafe or over else "good"}">'
        f"<strong>{_text(_headline(run))}</strong>"
        f"{f'<ul>{items}</ul>' if unsafe else ''}"
        f"<p><span>{_text(_counts(run))}; safety dispatches: {len(sent)}, {kept}.</span></p></div>"
    )


def _counts(run: RunEvidence) -> str:
    outcomes = Counter(run.outcomes.get(test.nodeid, "unknown") for test in run.tests)
    listed = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    return f"Tests that used the bench: {listed or 'none'}"


def _instruments(instruments: Sequence[InstrumentSummary]) -> Html:
    if not instruments:
        return Html("<p>None was opened.</p>")
    head = ["name", "", "resource", "profile", "identity", "sent:", "p50:", "p99:", "max:"]
    head += ["bound:", "coalesced:", ""]
    return _table(head, map(_instrument, instruments))


def _instrument(one: InstrumentSummary) -> list[Html]:
    opened, sent = one.opened, one.dispatches
    known = ("-", "-", "-") if opened is None else (opened.resource, opened.model, opened.identity)
    cells = [_text(one.name), _badge(one.kind, one.kind), *map(_text, known)]
    if sent is None:
        return [*cells, Html("0"), *[Html("-")] * 5, Html("")]
    times = (sent.p50_s, sent.p99_s, sent.max_s, sent.bound_s)
    return [
        *cells,
        _text(sent.n),
        *(_text(ms(time_s)) for time_s in times),
        _text(sent.coalesced),
        _passing(sent.verdict, good=not sent.over_bound),
    ]


def _tests(run: RunEvidence) -> Html:
    if not run.tests:
        return Html("<p>No test used the bench.</p>")
    return _join(_test(test, run.outcomes.get(test.nodeid, "unknown")) for test in run.tests)


def _test(test: TestEvidence, outcome: str) -> Html:
    sent = safety_dispatches(test.records)
    alarms = [] if all(report.confirmed for report in test.estops) else ["UNCONFIRMED"]
    alarms += ["OVER BOUND"] if any(map(_is_over, sent)) else []
    kind = {"passed": "good", "failed": "bad", "error": "bad"}.get(outcome, "soft")
    marks = [_badge(outcome, kind), *(_passing(alarm, good=False) for alarm in alarms)]
    opened = " open" if alarms or kind == "bad" else ""
    return Html(
        f"<details{opened}><summary>{' '.join(marks)} {_code(test.nodeid)}</summary>\n<div>"
        f"{_join(map(_estop, test.estops))}{_dispatches(sent)}</div></details>"
    )


def _estop(report: EStopReport) -> Html:
    head = ["instrument", "attempt:", "command", "answer", "latency:", "bound:"]
    went = f"latency {ms(report.dispatch_latency_s)}, bound {ms(report.bound_s)}"
    if report.confirmed_latency_s is not None:
        went += f", confirmed after {ms(report.confirmed_latency_s)}"
    verdict = _passing(report.verdict, good=report.confirmed)
    return Html(
        f"<h3>{verdict} {_text(report.reason or 'E-stop')}</h3>\n"
        f'<p class="soft">{_text(report.instrument)}: {_text(went)}</p>\n'
        + (_table(head, map(_step, report.steps)) if report.steps else "")
    )


def _step(step: EStopStep) -> list[Html]:
    answer = Html("") if step.reply is None else _code(step.reply)
    if step.error is not None:
        answer = Html(f'<span class="bad">{_text(step.error)}</span> {answer}')
    times = [_text(ms(step.dispatch_latency_s)), _text(ms(step.bound_s))]
    return [_text(step.instrument), _text(step.attempt), _code(step.command), answer, *times]


def _dispatches(sent: Sequence[TransactionRecord]) -> Html:
    if not sent:
        return Html("<p>No safety command was sent.</p>")
    head = ["instrument", "command", "outcome", "latency:", "bound:", f"of bound + {SLACK}"]
    shown = slowest(sent, DISPATCHES_SHOWN)
    left_out = len(sent) - len(shown)
    note = f"<p>{left_out} more were sent, none of them slower.</p>" if left_out else ""
    return Html(
        f"<h3>Safety dispatches: {len(sent)}</h3>\n{_table(head, map(_dispatch, shown))}{note}"
    )


def _dispatch(record: TransactionRecord) -> list[Html]:
    return [
        _text(record.instrument),
        _code(command_text(record)),
        _text(record.outcome),
        _text(ms(record.dispatch_latency_s)),
        _text(ms(record.bound_s)),
        _bar(record),
    ]


def _is_over(record: TransactionRecord) -> bool:
    return is_over_bound(record, DISPATCH_SLACK_S)


def _bar(record: TransactionRecord) -> Html:
    """Return a bar whose grey length is what is allowed; what is over it fills it, in red."""
    over = _is_over(record)
    share = 1.0 if over else latency_s(record) / (record.bound_s + DISPATCH_SLACK_S)
    words = "OVER BOUND" if over else f"{share:.3%}"
    return Html(
        '<svg width="100" height="8" aria-hidden="true"><rect class="track" width="100"'
        f' height="8"/><rect class="{"over" if over else "kept"}" width="{max(1, share * 100):.1f}"'
        f' height="8"/></svg> <span class="{"bad" if over else "soft"}">{words}</span>'
    )

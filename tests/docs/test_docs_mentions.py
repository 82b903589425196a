"""The reference mentions everything there is, and the documentation nothing that there isn't."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from pytest_safetyq import SafetyAwareDispatcher, cli
from pytest_safetyq.bench.config import BenchConfig, InstrumentConfig, Profile, SerialConfig
from pytest_safetyq.bench.config.model import Confirm, Identity, Step
from pytest_safetyq.bench.profiles import profile_names
from pytest_safetyq.bench.reports import DISPATCH_SLACK_S
from pytest_safetyq.bench.supervisor.opening import DEFAULT_TIMEOUT_S
from pytest_safetyq.dispatcher.exchange import CANCEL_GRACE_S
from pytest_safetyq.links.callbacks import DRAIN_S
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.plugin import fixtures, markers
from pytest_safetyq.plugin.evidence.dispatches import TABLE_ROWS
from pytest_safetyq.plugin.evidence.model import RunEvidence
from sim_instruments import WitnessEntry
from sim_instruments.faults import Kind, Rule
from sim_instruments.faults.plan import DEFAULT_S, GARBAGE_BYTES
from sim_instruments.framing import MAX_MESSAGE_BYTES
from sim_instruments.server.control_socket import WATCHER_LIMIT_BYTES
from sim_instruments.server.options import IDLE_S
from sim_instruments.server.requests import Request
from sim_instruments.wires.registry import WIRES

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PLUGIN = (REFERENCE / "plugin.md").read_text(encoding="utf-8")
COMMANDS = ("list", "check", "estop", "models", "serve")


@pytest.fixture(scope="module")
def said() -> str:
    """What ``pytest --help`` says, without the options of other plugins."""
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    group, _, rest = ended.stdout.partition("(pytest-safetyq):\n")[2].partition("\n\n")
    ini_values = re.findall(r"^  safetyq_\w+ \(", rest, re.MULTILINE)
    return "\n".join([group, *ini_values])


def _names(said: str) -> set[str]:
    return set(re.findall(r"^  (--[a-z-]+|safetyq_\w+)", said, re.MULTILINE))


def test_every_option_and_ini_value_is_in_the_reference(said: str) -> None:
    names = _names(said)
    assert {"--instrument", "--safetyq-check", "safetyq_scope"} <= names
    assert len(names) >= 13
    assert [name for name in names if f"`{name}" not in PLUGIN] == []


def test_every_fixture_is_in_the_reference() -> None:
    assert [name for name in fixtures.NAMES if f"| `{name}` |" not in PLUGIN] == []


def test_every_marker_and_argument_is_in_the_reference() -> None:
    for line in markers.LINES:
        name = re.split(r"\W", line)[0]
        assert f"@pytest.mark.{name}" in PLUGIN
    for name, parameter in inspect.signature(markers.SafetyLatency).parameters.items():
        assert f"| `{name}` |" in PLUGIN
        assert f"{name}={parameter.default}" in PLUGIN


def test_every_key_of_the_json_report_is_in_the_reference() -> None:
    for name in RunEvidence.__dataclass_fields__:
        assert f"`{name}`" in PLUGIN


def test_every_key_of_the_bench_file_is_in_the_reference() -> None:
    text = (REFERENCE / "bench-file.md").read_text(encoding="utf-8")
    how_to = (ROOT / "docs" / "how-to" / "profile.md").read_text(encoding="utf-8")
    for struct in (BenchConfig, InstrumentConfig, SerialConfig, Profile, Step, Confirm, Identity):
        for field in msgspec.structs.fields(struct):
            assert f"| `{field.name}` |" in text, f"{struct.__name__}.{field.name}"
    for field in msgspec.structs.fields(Profile):
        assert f"`{field.name}`" in how_to
    for name in profile_names():
        assert f"| `{name}` |" in text


def test_figures_in_the_text_are_those_of_the_code() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(SafetyAwareDispatcher).parameters.items()
    }
    assert (defaults["max_depth"], defaults["coalesce_s"]) == (256, 0.05)
    assert (DISPATCH_SLACK_S, CANCEL_GRACE_S) == (0.005, 0.02)
    assert (DEFAULT_TIMEOUT_S, DRAIN_S, TABLE_ROWS) == (2.0, 0.5, 50)
    assert inspect.signature(VisaLink).parameters["resync_budget_s"].default == 2.0


def test_the_command_is_in_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    text = (REFERENCE / "command.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+)  ", _help(capsys), re.MULTILINE)
    assert tuple(listed) == COMMANDS
    for command in COMMANDS[:-1]:  # the last one hands everything on
        row = next(line for line in text.splitlines() if f"| `safetyq {command}` |" in line)
        options = set(re.findall(r"--\w+", _help(capsys, command))) - {"--help"}
        assert set(re.findall(r"`(--\w+)`", row)) == options
        assert all(f"| `{option} " in text for option in options)


def test_the_server_is_in_the_reference() -> None:
    text = (REFERENCE / "simulation.md").read_text(encoding="utf-8")
    assert "| `safetyq serve` |" in (REFERENCE / "command.md").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "sim_instruments", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"--[a-z-]+", said)) - {"--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE)) == options
    for kind in get_args(Kind):
        assert f"| `{kind}` |" in text
    for field in msgspec.structs.fields(Rule):
        assert f"| `{field.name}` |" in text
    for request in get_args(Request):
        assert f"| `{request.__struct_config__.tag}` |" in text
    assert (IDLE_S, MAX_MESSAGE_BYTES, WATCHER_LIMIT_BYTES) == (300, 4096, 16 * 2**20)
    assert DEFAULT_S == {"delay": 0.1, "trickle": 0.01, "fragment": 0.001}
    assert (GARBAGE_BYTES, Rule("fragment").size) == (8, 4)
    for wire in WIRES:
        assert f"| `{wire}` |" in text
    for name in WitnessEntry.__dataclass_fields__:
        assert f"`{name}`" in text


def _help(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    with pytest.raises(SystemExit):
        cli.main([*command, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_no_option_is_made_up(page: Path, said: str) -> None:
    text = page.read_text(encoding="utf-8")
    known = _names(said)
    for name in re.findall(r"--safetyq-[a-z-]+|\bsafetyq_[a-z]+", text):
        assert name in known, name

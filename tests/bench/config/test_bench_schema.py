"""The shipped JSON Schema says what the reader does."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_safetyq.bench.config import BenchFileError, bench_schema, load_bench, schema_text

RIGHT = """\
visa: "@py"
instruments:
  smu:
    resource: GPIB0::24::INSTR
    model: keithley-2400
    timeout_s: 0.2
    limits: {voltage_v: 20, current_a: [0, 1]}
  laser:
    resource: ASRL/dev/ttyUSB0::INSTR
    serial: {baud_rate: 115200, parity: even}
    profile:
      "off": [":LASER OFF", {send: "X", reply: true}]
      confirm: {query: ":LASER?", accept: [0, "OFF"]}
      identity: null
  supply:
    resource: GPIB0::6::INSTR
    profile:
      "off": ["X"]
      confirm: [{query: "A?", accept: [0]}, {query: "B", accept: [0], prefix: "B:", mask: 0x3}]
"""


def problems(text: str) -> list[str]:
    document: Any = yaml.safe_load(text)
    validator = jsonschema.Draft202012Validator(bench_schema())
    return [error.message for error in validator.iter_errors(document)]


def test_the_shipped_file_is_the_generated_one() -> None:
    shipped = resources.files("pytest_safetyq.bench.config").joinpath("bench.schema.json")

    # After a change of the types, write schema_text() to that file.
    assert shipped.read_text(encoding="utf-8") == schema_text()


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_a_right_file_passes_both(tmp_path: Path) -> None:
    (tmp_path / "bench.yaml").write_text(RIGHT)

    assert load_bench(tmp_path / "bench.yaml").visa == "@py"
    assert problems(RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timeout_s: 0.2", "timeout_s: fast"),
        ("timeout_s: 0.2", "timeout_s: 0"),
        ("timeout_s: 0.2", "timout_s: 1"),
        ("voltage_v: 20", "voltage_v: -20"),
        ("voltage_v: 20", "volts: 20"),
        ("[0, 1]", "[0, 1, 2]"),
        ("parity: even", "parity: evn"),
        ("    resource: GPIB0::24::INSTR\n", ""),
        ('accept: [0, "OFF"]', "accept: []"),
        ("confirm: [{query", "confirm: [{ask"),
        ("mask: 0x3", "mask: 0"),
        ('{send: "X", reply: true}', '{sent: "X"}'),
        ("  laser:", "  2nd:"),
        ("    profile:", "    model: generic-scpi\n    profile:"),
    ],
)
def test_a_wrong_file_fails_both(tmp_path: Path, old: str, new: str) -> None:
    wrong = RIGHT.replace(old, new)
    assert wrong != RIGHT
    (tmp_path / "bench.yaml").write_text(wrong)

    with pytest.raises(BenchFileError):
        load_bench(tmp_path / "bench.yaml")
    assert problems(wrong)

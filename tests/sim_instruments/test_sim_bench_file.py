from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pyvisa

from sim_instruments import BENCH_YAML, resources

ADDRESSES = [f"GPIB0::{address}::INSTR" for address in (5, 6, 7, 8)]

Edit = Callable[[dict[str, Any]], object]

MINIMAL = """
spec: "1.1"
devices:
  meter: {scpi: {role: meter}}
resources:
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "bench.yaml"
        path.write_text(text)
        return path

    return write


def test_the_resources_of_a_file_are_named_without_opening_it() -> None:
    assert resources(BENCH_YAML) == ADDRESSES


def test_pyvisa_lists_the_same_resources(
    bench_file: Callable[..., Path], open_file: Callable[[Path], pyvisa.ResourceManager]
) -> None:
    path = bench_file()
    assert list(open_file(path).list_resources()) == resources(str(path))


def test_names_are_canonical(written: Callable[[str], Path]) -> None:
    assert resources(written(MINIMAL + "  GPIB::5: {device: meter}")) == ["GPIB0::5::INSTR"]


def test_a_device_of_another_file_is_pyvisa_sims_business(written: Callable[[str], Path]) -> None:
    entry = "  GPIB0::5::INSTR: {device: other, filename: other.yaml}"
    assert resources(written(MINIMAL + entry)) == ["GPIB0::5::INSTR"]


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ("  GPIB0::5::INSTR: {device: metre}", r"unknown device 'metre' \(meter\)"),
        ("  GPIB0::5::INSTR: {devise: meter}", r"'GPIB0::5::INSTR' has no 'device'"),
        ("  nonsense: {device: meter}", r"'nonsense' is not a resource name"),
        (
            "  GPIB0::5: {device: meter}\n  GPIB0::5::INSTR: {device: meter}",
            "two devices on the address GPIB0::5::INSTR",
        ),
        (
            "  GPIB0::5: {device: meter}\n  GPIB0::5: {device: meter}",
            r"key 'GPIB0::5' appears twice in .*line 7",
        ),
        ("  {", r"while parsing .*line [67]"),
        ("", "'resources' must be a mapping"),
    ],
)
def test_a_mistake_in_the_resources_is_one_line(
    written: Callable[[str], Path], entries: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        resources(written(MINIMAL + entries))
    assert "\n" not in str(caught.value)
    assert "bench.yaml" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "devices: {}\nresources: {}"])
def test_what_is_no_bench_file_is_refused(written: Callable[[str], Path], text: str) -> None:
    with pytest.raises(ValueError, match=r"not a YAML mapping|'spec'"):
        resources(written(text))


def put(*keys: str, value: object) -> Edit:
    def edit(devices: dict[str, Any]) -> None:
        place = devices
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (put("smu", "traits", "mutee", value="1"), r"'smu': unknown trait 'mutee' \(known: takes"),
        (put("smu", "traits", "mute", value="maybe"), r"'smu': .*traits.mute"),
        (put("smu", "traits", "takes_s", value={"FOO?": "1"}), "no command has the header 'FOO?"),
        (put("smu", "traits", "takes_s", value={"OUTP": "1"}), "'OUTP': it is not a query"),
        (put("smu", "traits", "takes_s", value={"OUTP?": "-1"}), ">= 0"),
        (put("smu", "trait", value={}), "unknown field `trait`"),
        (put("smu", "circuits", "1", "resistance_ohm", value="0"), "> 0"),
        (put("smu", "circuits", value={}), "at least one channel"),
        (put("smu", "scpi", "role", value="laser"), "laser"),
        (put("smu", "scpi", "number_format", value="bad"), "format specifier"),
        (put("smu", "scpi", "accepts", value=["outp ut"]), "malformed header 'outp ut'"),
        (put("smu", "scpi", "accepts", value=[":OUTPut[:STATe]"]), "described twice"),
        (
            put("smu", "scpi", "settings", "output", "default", value="5 V"),
            "'output': default '5 V",
        ),
        (put("smu", "scpi", "settings", value={}), "a source needs the setting 'current'|'output'"),
        (put("load", "scpi", "settings", value={}), "a sink needs the setting 'current'"),
        (put("supply", "circuits", "3", value={}), "must name each channel"),
    ],
)
def test_a_mistake_in_a_device_is_one_line(
    bench_file: Callable[..., Path], edit: Edit, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        resources(bench_file(edit))
    assert "\n" not in str(caught.value)


def test_opening_a_file_with_a_mistake_says_what_it_is(
    bench_file: Callable[..., Path], open_file: Callable[[Path], pyvisa.ResourceManager]
) -> None:
    with pytest.raises(ValueError, match=r"unknown trait .*mutee"):
        open_file(bench_file(put("smu", "traits", "mutee", value="1")))


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resources(tmp_path / "none.yaml")

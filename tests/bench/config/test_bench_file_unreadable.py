"""Files that are no bench file at all: each is one line that says so."""

from pathlib import Path

import pytest
from config_helpers import message_of

from pytest_safetyq.bench.config import BenchFileError, load_bench

FILES = {
    "empty": ("", "bench.yaml: the file is empty; write at least one key"),
    "only comments": ("# nothing\n", "bench.yaml: the file is empty; write at least one key"),
    "no instruments": (
        'visa: "@py"\n',
        'bench.yaml:1: "instruments" is missing; write at least one instrument, '
        "such as instruments: {smu: {resource: GPIB0::24::INSTR}}",
    ),
    "empty instruments": (
        "instruments: {}\n",
        "bench.yaml:1: instruments: is empty; write at least one instrument, "
        "such as instruments: {smu: {resource: GPIB0::24::INSTR}}",
    ),
    "a list": (
        "- a\n",
        "bench.yaml:1: a list is not a mapping; write a mapping with visa, instruments",
    ),
    "Latin-1": (
        b"# bench\n# \xe9\n",
        "bench.yaml:2: not UTF-8 at byte 10 (0xe9); save the file as UTF-8",
    ),
    "UTF-16": (
        "visa: x".encode("utf-16"),
        "bench.yaml:1: not UTF-8 at byte 0 (0xff); save the file as UTF-8",
    ),
    "a control character": (
        "a: 1\nb: \x01\n",
        "bench.yaml:2: control character 0x01; "
        "take it out, or write it as an escape in double quotes",
    ),
    "too long": (
        "#" * 1_000_001,
        "bench.yaml: is longer than 1000000 bytes; write the path of a bench or profile file",
    ),
    "deep": (
        "[" * 40,
        "bench.yaml:1: more than 32 levels or 100 aliases; "
        "write the values out, one mapping per instrument",
    ),
    "an alias bomb": (
        "a: &a [1]\nb:\n" + "  - *a\n" * 101,
        "bench.yaml:103: more than 32 levels or 100 aliases; "
        "write the values out, one mapping per instrument",
    ),
    "a mapping that holds itself": (
        "instruments: &a {smu: *a}\n",
        'bench.yaml:1: instruments.smu.smu: unknown key "smu"; known are resource, model, '
        "profile, timeout_s, limits, serial, visa, link",
    ),
}


@pytest.mark.parametrize(("data", "message"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, data: str | bytes, message: str) -> None:
    assert message_of(tmp_path / "bench.yaml", data) == message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("instruments:\n\tsmu: 1\n", 2),
        ("instruments: [\n", 2),
        ("\na: *b\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
    ],
)
def test_what_only_the_parser_knows_has_its_line(tmp_path: Path, text: str, line: int) -> None:
    # The words between are the parser's own, and differ between its two builds.
    message = message_of(tmp_path / "bench.yaml", text)

    assert message.startswith(f"bench.yaml:{line}: not YAML: ")
    assert message.endswith("; write YAML, indented with spaces")


def test_a_character_that_yaml_forbids(tmp_path: Path) -> None:
    assert "not YAML" in message_of(tmp_path / "bench.yaml", "a: 1\n\ufffe")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match=r"none\.yaml: no such file; write the path"):
        load_bench(tmp_path / "none.yaml")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match="is a directory; write the path of the YAML file"):
        load_bench(tmp_path)


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match="cannot be read"):
        load_bench(f"{tmp_path}/a\0b")

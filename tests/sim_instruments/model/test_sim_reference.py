"""The reference page names every key, and its example is what it says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from sim_instruments import resources
from sim_instruments.model.circuit import Circuit
from sim_instruments.model.description import (
    ChoiceSetting,
    Description,
    NumberSetting,
    Scpi,
    SwitchSetting,
    describe,
)
from sim_instruments.model.instrument import Instrument
from sim_instruments.model.phrases import Phrase
from sim_instruments.model.traits import Traits

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "simulated-instruments.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLE, PHRASES = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "kind",
    [Description, Scpi, SwitchSetting, NumberSetting, ChoiceSetting, Phrase, Circuit, Traits],
)
def test_every_key_is_in_the_reference(kind: type[msgspec.Struct]) -> None:
    keys = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", TEXT, re.MULTILINE))))
    assert set(kind.__struct_fields__) - keys == set()


def test_the_example_is_a_bench_file(tmp_path: Path) -> None:
    path = tmp_path / "bench.yaml"
    path.write_text(EXAMPLE)
    assert resources(path) == ["GPIB0::9::INSTR"]


def test_the_example_shows_what_the_page_says() -> None:
    device = yaml.load(EXAMPLE, Loader=yaml.BaseLoader)["devices"]["supply"]
    instrument = Instrument(describe(device))
    reply = instrument.execute(b"OUTP OFF;OUTP?;:MEAS:CURR?").reply
    assert reply == "0;-2.000000E+01"


def test_the_laser_answers_as_the_page_says() -> None:
    device = yaml.load(PHRASES, Loader=yaml.BaseLoader)["devices"]["laser"]
    laser = Instrument(describe(device))
    said = [laser.execute(message).reply for message in (b"EMON", b"STA", b"EMOFF", b"STA", b"X")]
    assert said == ["EMON", "STA: 1", "EMOFF", "STA: 0", "ERR: Unknown Command"]

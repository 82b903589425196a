"""What a PyVISA user tries on a handle: never silently accepted, and told what is right here."""

from __future__ import annotations

import copy

import pytest
from bench_rig import Rig

from pytest_safetyq.bench.client.handle import Handle
from pytest_safetyq.bench.client.pyvisa_habits import INSTEAD

HANDLES = ["smu", "async_smu"]

SET = {
    "timeout": "timeout_s",
    "read_termination": "read_terminator",
    "write_termination": "write_terminator",
    "query_delay": "gap_s",
    "baud_rate": "bench file",
}

READ = {
    "timeout": "timeout_s",
    "read": r"query\(\)",
    "clear": "device_clear",
    "close": "end of the run",
    "read_stb": "STB",
}


@pytest.mark.parametrize("handle", HANDLES)
@pytest.mark.parametrize(("name", "match"), SET.items(), ids=SET.keys())
def test_setting_one_says_where_it_is_set(rig: Rig, handle: str, name: str, match: str) -> None:
    instrument = getattr(rig, handle)
    with pytest.raises(AttributeError, match=rf"Instrument\.{name} can't be set; .*{match}"):
        setattr(instrument, name, 5000)


@pytest.mark.parametrize("handle", HANDLES)
@pytest.mark.parametrize(("name", "match"), READ.items(), ids=READ.keys())
def test_using_one_says_what_to_use(rig: Rig, handle: str, name: str, match: str) -> None:
    instrument = getattr(rig, handle)
    assert not hasattr(instrument, name)
    with pytest.raises(AttributeError, match=rf"Instrument has no attribute '{name}'; .*{match}"):
        getattr(instrument, name)


@pytest.mark.parametrize("handle", HANDLES)
def test_a_slip_is_an_attribute_error(rig: Rig, handle: str) -> None:
    instrument = getattr(rig, handle)
    with pytest.raises(AttributeError, match="'qeury'"):
        instrument.qeury  # noqa: B018 - the access itself is what is tried
    with pytest.raises(AttributeError, match=r"\.nmae can't be set$"):
        instrument.nmae = "load"
    with pytest.raises(AttributeError, match=r"\.name can't be set$"):
        instrument.name = "load"


def test_no_hint_hides_what_there_is(rig: Rig) -> None:
    """Nor is one in the way of what Python itself looks for."""
    assert [name for name in INSTEAD if hasattr(Handle, name)] == []
    assert copy.copy(rig.smu).query(":OUTP?") == "0"

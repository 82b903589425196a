from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import pyvisa
import yaml
from pyvisa.resources import MessageBasedResource

from sim_instruments import BENCH_YAML
from sim_instruments.model.description import describe
from sim_instruments.model.instrument import Instrument
from sim_instruments.port import Port, Terminators
from sim_instruments.shared import SharedInstrument

Connect = Callable[..., MessageBasedResource]
SMU, SUPPLY = "GPIB0::5::INSTR", "GPIB0::6::INSTR"


def with_traits(**traits: object) -> Callable[[dict[str, Any]], None]:
    def edit(devices: dict[str, Any]) -> None:
        for device in ("smu", "supply"):
            devices[device]["traits"] = traits

    return edit


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def port(clock: Clock) -> Port:
    smu = yaml.load(BENCH_YAML.read_text(), Loader=yaml.BaseLoader)["devices"]["smu"]
    shared = SharedInstrument(Instrument(describe(smu), clock=clock), "smu", clock=clock)
    return Port(shared, Terminators())


def taken(port: Port) -> bytes | None:
    reply = port.take()
    return None if reply is None else reply.payload


def test_a_slow_reply_is_there_only_after_its_time(port: Port, clock: Clock) -> None:
    port.write(b"MEAS:CURR?\n")
    clock.now_s = 100.0019
    assert taken(port) is None
    clock.now_s = 100.0021
    assert taken(port) == b"+0.000000E+00\n"


def test_a_backlog_of_slow_queries_takes_the_sum_of_their_times(port: Port, clock: Clock) -> None:
    port.write(b"MEAS:CURR?\nMEAS:VOLT?;:READ?\nOUTP?\n")
    clock.now_s = 100.003
    assert taken(port) == b"+0.000000E+00\n"
    assert taken(port) is None
    clock.now_s = 100.0061
    replies = [taken(port), taken(port), taken(port)]
    assert [reply is not None for reply in replies] == [True, True, False]
    assert replies[1] == b"0\n"


def test_a_slow_query_does_not_block_the_thread(connect: Connect) -> None:
    smu = connect(SMU, with_traits(takes_s={"meas:curr?": "0.5"}))
    smu.timeout = 5000
    before_s = time.monotonic()
    smu.write("MEAS:CURR?")
    assert time.monotonic() - before_s < 0.5
    assert smu.read() == "+0.000000E+00"
    assert time.monotonic() - before_s >= 0.5


def test_a_stuck_output_accepts_off_and_stays_on(connect: Connect) -> None:
    smu = connect(SMU, with_traits(output_stuck_on="true"))
    assert smu.query("OUTP?") == "0"
    smu.write("OUTP ON;*CLS")
    for off in ("OUTP OFF", "OUTP 0", "*RST"):
        smu.write(off)
        assert smu.query("OUTP?;:SYST:ERR?") == '1;0,"No error"'


def test_a_mute_instrument_executes_and_never_answers(connect: Connect) -> None:
    smu = connect(SMU, with_traits(mute="true"))
    with pytest.raises(pyvisa.VisaIOError, match="VI_ERROR_TMO"):
        smu.query("*IDN?")


def test_a_mute_query_is_the_only_one_without_an_answer(connect: Connect) -> None:
    smu = connect(SMU, with_traits(mute_headers=[":OUTPut[:STATe]?"]))
    with pytest.raises(pyvisa.VisaIOError, match="VI_ERROR_TMO"):
        smu.query("OUTP?")
    assert smu.query("outp?;*OPC?") == "1"


def test_traits_are_those_of_one_device(connect: Connect) -> None:
    def edit(devices: dict[str, Any]) -> None:
        devices["smu"]["traits"] = {"mute": "true"}

    assert connect(SUPPLY, edit).query("*OPC?") == "1"

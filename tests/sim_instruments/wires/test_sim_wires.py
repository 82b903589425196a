"""What holds on the raw socket and the serial line alike, driven by PyVISA-py."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyvisa.resources import MessageBasedResource

from sim_instruments.sim_bench import SimBench

Visa = Callable[..., MessageBasedResource]

WIRES = ["socket"] if sys.platform == "win32" else ["socket", "serial"]

pytestmark = pytest.mark.sim_bench(wires=WIRES)


@pytest.mark.parametrize("wire", WIRES)
def test_every_instrument_answers(sim_bench: SimBench, visa: Visa, wire: str) -> None:
    identities = [
        visa(sim_bench.resource_name(name, wire)).query("*IDN?") for name in sim_bench.names
    ]
    assert sim_bench.names == ["smu", "supply", "dmm", "load"]
    assert [identity.split(",")[1] for identity in identities] == [
        "MODEL 2400",
        "TWO-CHANNEL SUPPLY",
        "MULTIMETER",
        "ELECTRONIC LOAD",
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_unread_replies_are_kept_in_order(sim_bench: SimBench, visa: Visa, wire: str) -> None:
    smu = visa(sim_bench.resource_name("smu", wire))
    smu.write("*IDN?")
    smu.write("OUTP?")
    assert smu.read().startswith("KEITHLEY")
    assert smu.read() == "0"


@pytest.mark.parametrize("wire", WIRES)
def test_the_witness_tells_message_wire_and_output(
    sim_bench: SimBench, visa: Visa, wire: str
) -> None:
    smu = visa(sim_bench.resource_name("smu", wire))
    smu.write("OUTP ON")
    assert smu.query("OUTP?") == "1"
    entries = sim_bench.witness()
    assert [(e.instrument, e.message, e.reply, e.output, e.wire, e.lost) for e in entries] == [
        ("smu", "OUTP ON", None, {"1": True}, wire, False),
        ("smu", "OUTP?", "1", {"1": True}, wire, False),
    ]
    assert entries[0].t <= entries[1].t
    assert entries[0].client == entries[1].client
    assert bool(entries[0].client) == (wire == "socket")


def test_all_clients_share_one_instrument(sim_bench: SimBench, visa: Visa) -> None:
    sessions = [visa(sim_bench.resource_name("smu", wire)) for wire in [*WIRES, "socket"]]
    sessions[0].write("OUTP ON")
    assert sessions[0].query("*OPC?") == "1"
    assert [session.query("OUTP?") for session in sessions] == ["1"] * len(sessions)


@pytest.mark.sim_bench(wires=["socket"])
def test_many_clients_at_once_lose_and_swap_nothing(sim_bench: SimBench, visa: Visa) -> None:
    resource = sim_bench.resource_name("supply")
    sessions = [visa(resource) for _ in range(8)]
    start = threading.Barrier(len(sessions))

    def talk(number: int) -> list[str]:
        start.wait()
        supply = sessions[number]
        return [supply.query(f"VOLT {number},(@1);*IDN?;*OPC?;:VOLT? (@2)") for _ in range(100)]

    with ThreadPoolExecutor(len(sessions)) as pool:
        replies = list(pool.map(talk, range(len(sessions))))
    right = "SIM INSTRUMENTS,TWO-CHANNEL SUPPLY,SIM0002,1.0;1;+0.000000E+00"
    assert {reply for each in replies for reply in each} == {right}
    assert len(sim_bench.witness()) == 800

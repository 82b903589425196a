"""If one of these fails after an upgrade of PyVISA-py, `pyvisa_py_breaking.py` needs a change."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import pyvisa
from pyvisa_py.protocols import hislip, rpc, vxi11
from pyvisa_py.tcpip import TCPIPInstrHiSLIP, TCPIPInstrVxi11

from pytest_safetyq.links.pyvisa_py_breaking import HislipClear, Vxi11Abort, breaker_of
from pytest_safetyq.links.visa_session import VisaAddress, VisaSession
from sim_instruments.sim_bench import SimBench


@contextmanager
def opened(sim_bench: SimBench, wire: str) -> Iterator[Any]:
    """Open the SMU with PyVISA-py itself."""
    resource = pyvisa.ResourceManager("@py").open_resource(sim_bench.resource_name("smu", wire))
    resource.timeout = 5000
    try:
        yield resource
    finally:
        resource.close()


@pytest.mark.sim_bench(wires=["vxi11", "hislip"])
def test_the_sessions_are_found_and_have_the_names_that_are_used(sim_bench: SimBench) -> None:
    with opened(sim_bench, "vxi11") as resource:
        session = resource.visalib.sessions[resource.session]
        assert type(session) is TCPIPInstrVxi11
        assert isinstance(session.link, int)
        assert isinstance(session.interface, vxi11.CoreClient)
        assert isinstance(session.interface.host, str)
    with opened(sim_bench, "hislip") as resource:
        session = resource.visalib.sessions[resource.session]
        assert type(session) is TCPIPInstrHiSLIP
        assert isinstance(session.interface._sync, socket.socket)
        assert isinstance(session.interface._async, socket.socket)
        assert hislip.MESSAGETYPE["AsyncDeviceClearAcknowledge"] == 23


@pytest.mark.sim_bench(wires=["vxi11"])
def test_the_answer_that_has_the_abort_port_is_still_there_after_opening(
    sim_bench: SimBench,
) -> None:
    with opened(sim_bench, "vxi11") as resource:
        core = resource.visalib.sessions[resource.session].interface
        breaker = breaker_of(resource, "abort", 1.0)
        assert isinstance(breaker, Vxi11Abort)
        address = breaker._channel.sock.getpeername()
        assert address[0] == core.host
        assert address[1] != core.port, "the abort channel has a port of its own"
        breaker.close()


@pytest.mark.sim_bench(wires=["vxi11"])
def test_after_another_call_the_abort_port_is_not_guessed(sim_bench: SimBench) -> None:
    with opened(sim_bench, "vxi11") as resource:
        resource.query("*IDN?")
        with pytest.raises((ConnectionError, rpc.RPCError, EOFError)):
            breaker_of(resource, "abort", 1.0)
        assert "KEITHLEY" in resource.query("*IDN?"), "looking for it has broken nothing"


@pytest.mark.sim_bench(wires=["vxi11", "hislip"])
@pytest.mark.parametrize(
    ("wire", "interrupt", "kind"),
    [("vxi11", "abort", Vxi11Abort), ("hislip", "device_clear", HislipClear)],
)
def test_a_blocked_read_is_freed_with_an_error(
    sim_bench: SimBench, wire: str, interrupt: Any, kind: type
) -> None:
    sim_bench.control.fault("smu", "no_reply", pattern="READ")
    ended: list[Exception] = []

    def read(resource: Any) -> None:
        try:
            resource.read_raw()
        except Exception as error:  # noqa: BLE001 - backends raise what they like
            ended.append(error)

    with opened(sim_bench, wire) as resource:
        breaker = breaker_of(resource, interrupt, 1.0)
        assert type(breaker) is kind
        resource.write("READ?")
        reading = threading.Thread(target=read, args=(resource,))
        reading.start()
        time.sleep(0.05)  # until it is blocked; an abort before that strikes nothing
        breaker.break_off(time.monotonic() + 1.0)
        reading.join(1.0)
        assert not reading.is_alive()
        breaker.close()
    assert len(ended) == 1


@pytest.mark.sim_bench(wires=["vxi11", "hislip", "socket"])
@pytest.mark.parametrize(
    ("wire", "interrupt"),
    [
        ("socket", "abort"),
        ("socket", "device_clear"),
        ("vxi11", "device_clear"),
        ("hislip", "abort"),
    ],
)
def test_a_wire_that_has_nothing_of_the_kind_says_so_once_and_opens_all_the_same(
    sim_bench: SimBench, wire: str, interrupt: Any, caplog: pytest.LogCaptureFixture
) -> None:
    resource = sim_bench.resource_name("smu", wire)
    address = VisaAddress(resource=resource, library="@py", interrupt=interrupt)
    with caplog.at_level(logging.WARNING, logger="pytest_safetyq.links"):
        session = VisaSession(address, 2.0)
    assert session.breaker is None
    (record,) = caplog.records
    assert resource in record.getMessage()
    assert f"{interrupt} is not offered" in record.getMessage()
    session.close()

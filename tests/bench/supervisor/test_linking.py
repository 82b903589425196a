"""Which link a resource gets, and that it works over the simulated wires."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_safetyq import Priority
from pytest_safetyq.bench.config import Identity, SerialConfig
from pytest_safetyq.bench.profiles import shipped_profile
from pytest_safetyq.bench.supervisor.linking import _serial_settings, link_of
from pytest_safetyq.bench.supervisor.opening import open_instrument
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links.stream_link import StreamLink
from pytest_safetyq.links.visa import VisaLink
from sim_instruments.sim_bench import SimBench

SOCKET = "TCPIP0::192.0.2.1::5025::SOCKET"
SERIAL = "ASRL/dev/ttyUSB0::INSTR"
WIRES = ["socket", "serial", "hislip", "vxi11"]


@pytest.mark.parametrize(
    ("resource", "library", "kind"),
    [
        (SOCKET, "", StreamLink),
        (SOCKET, "@py", StreamLink),
        (SOCKET, "@ivi", VisaLink),
        (SERIAL, "", StreamLink),
        (SERIAL, "@ivi", VisaLink),
        ("ASRL1::INSTR", "", VisaLink),
        ("GPIB0::5::INSTR", "", VisaLink),
        ("GPIB0::5::INSTR", "bench.yaml@sim", VisaLink),
        ("TCPIP0::192.0.2.1::inst0::INSTR", "@py", VisaLink),
        ("TCPIP0::192.0.2.1::hislip0::INSTR", "@py", VisaLink),
        ("USB0::1::2::SN::0::INSTR", "", VisaLink),
    ],
)
def test_sockets_and_serial_ports_are_native_unless_a_library_is_named(
    resource: str, library: str, kind: type
) -> None:
    spec = InstrumentSpec(name="smu", resource=resource, library=library)
    assert type(link_of(spec, shipped_profile("generic-scpi"), Identity())) is kind


@pytest.mark.parametrize(
    ("serial", "settings"),
    [
        (None, {}),
        (
            SerialConfig(),
            {
                "baudrate": 9600,
                "bytesize": 8,
                "parity": "N",
                "stopbits": 1,
                "xonxoff": False,
                "rtscts": False,
                "dsrdtr": False,
            },
        ),
        (
            SerialConfig(baud_rate=115200, data_bits=7, parity="space", stop_bits="two"),
            {"baudrate": 115200, "bytesize": 7, "parity": "S", "stopbits": 2},
        ),
        (SerialConfig(stop_bits="one_and_a_half", parity="mark"), {"stopbits": 1.5, "parity": "M"}),
        (SerialConfig(flow_control="xon_xoff", parity="odd"), {"xonxoff": True, "parity": "O"}),
        (SerialConfig(flow_control="rts_cts", parity="even"), {"rtscts": True, "parity": "E"}),
        (SerialConfig(flow_control="dtr_dsr"), {"dsrdtr": True, "rtscts": False}),
    ],
)
def test_the_settings_of_a_serial_port_are_said_in_pyserials_words(
    serial: SerialConfig | None, settings: dict[str, Any]
) -> None:
    said = _serial_settings(serial)
    assert {key: said[key] for key in settings} == settings


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimBench]:
    with SimBench(wires=WIRES, directory=tmp_path_factory.mktemp("served")) as bench:
        yield bench


@pytest.mark.parametrize("wire", WIRES)
def test_an_instrument_opens_over_every_wire_and_goes_off(served: SimBench, wire: str) -> None:
    async def main() -> None:
        resource = served.resource_name("smu", wire)
        spec = InstrumentSpec(name="smu", resource=resource, library="@py")
        smu = await open_instrument(spec)
        try:
            assert smu.model == "keithley-2400"
            on = smu.submit("on", b":OUTP ON", Priority.CONTROL, timeout_s=None, expect_reply=None)
            await on
            assert served.control.state("smu").output == {"1": True}
            off = smu.submit(
                "off", b":OUTP OFF", Priority.SAFETY, timeout_s=None, expect_reply=None
            )
            await off
            asked = smu.submit("q", b":OUTP?", Priority.QUERY, timeout_s=None, expect_reply=None)
            assert (await asked).strip() == b"0"
            assert served.control.state("smu").output == {"1": False}
        finally:
            await smu.close()

    asyncio.run(main())

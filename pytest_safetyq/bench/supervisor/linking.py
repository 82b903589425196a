"""Which kind of link a resource gets, and how a profile sets it up."""

from typing import Any

from pyvisa import rname
from pyvisa.constants import ControlFlow, Parity, StopBits

from pytest_safetyq.bench.config import Identity, Profile, SerialConfig
from pytest_safetyq.bench.platform import HAS_NATIVE_SERIAL
from pytest_safetyq.bench.supervisor.custom_link import custom_link
from pytest_safetyq.bench.wire.messages import InstrumentSpec
from pytest_safetyq.links import InstrumentLink
from pytest_safetyq.links.reply_framer import ReplyFramer
from pytest_safetyq.links.serial import serial_connect
from pytest_safetyq.links.stream_link import Connect, StreamLink
from pytest_safetyq.links.tcp import tcp_connect
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress

NATIVE_LIBRARIES = ("", "@py")
"""Who names another library wants that one, and gets it."""


def link_of(spec: InstrumentSpec, profile: Profile, identity: Identity | None) -> InstrumentLink:
    """Return the link to an instrument; it isn't open yet.

    Sockets and serial ports are native: a deadline there is a cancellation, and an end of the
    connection is seen at once. Everything else is PyVISA's.

    Args:
        spec: The instrument.
        profile: How it talks.
        identity: How it says who it is; None: it doesn't.

    Raises:
        SafetyError: The user's own link can't be made.
    """
    query = None if identity is None else identity.query.encode("latin-1")
    write_terminator = profile.write_terminator.encode("latin-1")
    if spec.link is not None:
        return custom_link(
            spec,
            write_terminator=write_terminator,
            read_terminator=profile.read_terminator.encode("latin-1"),
            identity_query=query,
        )
    connect = _native(spec, profile)
    if connect is not None:
        return StreamLink(
            spec.resource,
            connect,
            write_terminator=write_terminator,
            identity_query=query,
            ends_with_path=not spec.resource.startswith("ASRL"),
            gap_s=profile.gap_s,
        )
    address = VisaAddress(
        resource=spec.resource,
        library=spec.library,
        attributes={} if spec.serial is None else _visa_attributes(spec.serial),
        read_terminator=profile.read_terminator.encode("latin-1"),
        block_terminator=profile.block_terminator,
        interrupt=profile.interrupt,
    )
    return VisaLink(
        address,
        write_terminator=write_terminator,
        identity_query=query,
        device_clear=profile.device_clear,
        gap_s=profile.gap_s,
    )


def takes_second_session(spec: InstrumentSpec) -> bool:
    """Whether a second session to the resource is one of its own, as on a network.

    On serial ports and buses it would share the wire with the first, and steal its replies.
    """
    return spec.resource.startswith("TCPIP") and not spec.simulated


def _native(spec: InstrumentSpec, profile: Profile) -> Connect | None:
    """Return what opens a native stream to the instrument; None: it has none."""
    if spec.library not in NATIVE_LIBRARIES:
        return None
    framer = ReplyFramer(
        profile.read_terminator.encode("latin-1"), block_terminated=profile.block_terminator
    )
    match rname.ResourceName.from_string(spec.resource):
        case rname.TCPIPSocket(host_address=host, port=port):
            return tcp_connect(spec.resource, host, int(port), framer)
        case rname.ASRLInstr(board=port) if HAS_NATIVE_SERIAL and not port.isdigit():
            return serial_connect(spec.resource, port, framer, _serial_settings(spec.serial))
    return None


def _serial_settings(serial: SerialConfig | None) -> dict[str, Any]:
    """Return the settings in pyserial's words."""
    if serial is None:
        return {}
    return {
        "baudrate": serial.baud_rate,
        "bytesize": serial.data_bits,
        "parity": serial.parity[0].upper(),
        "stopbits": {"one": 1, "one_and_a_half": 1.5, "two": 2}[serial.stop_bits],
        "xonxoff": serial.flow_control == "xon_xoff",
        "rtscts": serial.flow_control == "rts_cts",
        "dsrdtr": serial.flow_control == "dtr_dsr",
    }


def _visa_attributes(serial: SerialConfig) -> dict[str, Any]:
    return {
        "baud_rate": serial.baud_rate,
        "data_bits": serial.data_bits,
        "parity": Parity[serial.parity],
        "stop_bits": StopBits[serial.stop_bits],
        "flow_control": ControlFlow[serial.flow_control],
    }

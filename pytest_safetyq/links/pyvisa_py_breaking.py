"""Breaking off a call that a PyVISA-py session is blocked in, by a channel beside it.

No ``clear()`` of PyVISA-py frees a read that another thread is blocked in, and some hang with
it. What is here never touches the channel that the blocked call uses, save for shutting it
down where the session ends anyway. It knows private names of PyVISA-py, and no other file
does: ``tests/links/test_pyvisa_py_contract.py`` says which.
"""

import contextlib
import socket
import time
from typing import Any

from pyvisa_py.protocols import hislip, rpc, vxi11
from pyvisa_py.tcpip import TCPIPInstrHiSLIP, TCPIPInstrVxi11

from pytest_safetyq.links.breaking import Breaker, Interrupt


class Vxi11Abort:
    """``device_abort`` on the abort channel (VXI-11 rev. 1.0, B.6.13): the call ends with error 23.

    The channel is opened beforehand: that there is one is to be known before it is needed.

    Args:
        session: PyVISA-py's session, just opened and not used yet.
        timeout_s: Seconds that connecting may take.

    Raises:
        ConnectionError: The instrument has no abort channel that can be reached.
    """

    keeps_session = True

    def __init__(self, session: TCPIPInstrVxi11, timeout_s: float) -> None:
        self._link, port = _created_link(session.interface)
        if self._link != session.link:
            raise ConnectionError("the abort port of the link is not known")
        core = session.interface
        try:
            self._channel = rpc.RawTCPClient(
                core.host,
                vxi11.DEVICE_ASYNC_PROG,
                vxi11.DEVICE_ASYNC_VERS,
                port,
                open_timeout=timeout_s * 1000,
            )
        except rpc.RPCError as error:
            raise ConnectionError(f"the abort channel, port {port}: {error}") from error
        self._channel.packer = vxi11.Vxi11Packer()
        self._channel.unpacker = vxi11.Vxi11Unpacker(b"")

    def break_off(self, until_s: float) -> None:
        """Abort, and wait for the answer; how long is up to whoever calls: see `rpc`."""
        channel = self._channel
        error = channel.make_call(
            vxi11.DEVICE_ABORT,
            self._link,
            channel.packer.pack_device_link,
            channel.unpacker.unpack_device_error,
        )
        if error:
            raise ConnectionError(f"device_abort: error {error}")

    def close(self) -> None:
        """Close the abort channel."""
        self._channel.close()


class HislipClear:
    """``AsyncDeviceClear`` on the asynchronous channel (IVI-6.1), and the end of the session.

    The second half of a device clear belongs on the synchronous channel, where the blocked
    read would take the answer and wait on. So the instrument is told to abandon what it is
    about, and the session is ended; that frees the read.

    Args:
        session: PyVISA-py's session.
    """

    keeps_session = False

    def __init__(self, session: TCPIPInstrHiSLIP) -> None:
        self._channels = session.interface

    def break_off(self, until_s: float) -> None:
        """Clear, wait for the acknowledgement, and shut the synchronous channel down."""
        beside = self._channels._async
        try:
            beside.settimeout(max(0.001, until_s - time.monotonic()))
            hislip.send_msg(beside, "AsyncDeviceClear", 0, 0)
            while (header := hislip.RxHeader(beside)).msg_type != "AsyncDeviceClearAcknowledge":
                hislip.receive_exact(beside, header.payload_length)  # a service request, say
        finally:
            with contextlib.suppress(OSError):  # it has ended by itself
                self._channels._sync.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Do nothing: both channels are the session's."""


def breaker_of(resource: Any, interrupt: Interrupt, timeout_s: float) -> Breaker | None:
    """Return what breaks off the calls of an open PyVISA resource; None: nothing does.

    Args:
        resource: The resource, just opened and not used yet.
        interrupt: What the instrument takes well.
        timeout_s: Seconds that connecting may take.

    Raises:
        ConnectionError: The wire has it, and this instrument doesn't.
    """
    session = getattr(resource.visalib, "sessions", {}).get(resource.session)
    if interrupt == "abort" and isinstance(session, TCPIPInstrVxi11):
        return Vxi11Abort(session, timeout_s)
    if interrupt == "device_clear" and isinstance(session, TCPIPInstrHiSLIP):
        return HislipClear(session)
    return None


def _created_link(core: Any) -> tuple[int, int]:
    """Return the link and the abort port of the latest answer, which is that to ``create_link``.

    PyVISA-py throws the port away. Its unpacker still has the answer, as long as no other
    call was made; asking for a second link could take the last one that the instrument has.
    """
    answer = core.unpacker
    answer.set_position(0)
    answer.unpack_replyheader()
    error, link, port, _ = answer.unpack_create_link_resp()
    return (-1, 0) if error else (link, port)

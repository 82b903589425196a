"""One PyVISA session, called from one thread: the blocking half of a `VisaLink`.

What PyVISA and its backends raise is of many families (``VisaIOError``, ``OSError``,
``SerialException``, bare ``RuntimeError`` from HiSLIP, ``InvalidSession``). They leave this
file as two: ``TimeoutError``, and `LinkLost` for all the rest.
"""

import contextlib
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyvisa
from pyvisa import errors
from pyvisa.constants import InterfaceType, StatusCode
from pyvisa.resources import MessageBasedResource
from pyvisa.rname import to_canonical_name

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.breaking import Breaker, Interrupt

log = logging.getLogger("pytest_safetyq.links")

CHUNK_BYTES = 20 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VisaAddress:
    """What is needed to open a session.

    Attributes:
        resource: The VISA resource name.
        library: As PyVISA takes it: ``@py``, ``@ivi``, ``file.yaml@sim``; empty: PyVISA's choice.
        attributes: Values for attributes of the PyVISA resource, such as ``baud_rate``.
        read_terminator: What ends a reply where the wire itself has no END (serial, socket).
        block_terminator: Whether it also comes behind a definite length block, there.
        interrupt: How a transaction in flight may be broken off, where the wire has it.
    """

    resource: str
    library: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    read_terminator: bytes = b"\n"
    block_terminator: bool = True
    interrupt: Interrupt = "none"


class VisaSession:
    """An open session. All methods block; call them from one thread only.

    Args:
        address: What to open.
        timeout_s: Seconds that opening may take, as far as the backend keeps to it.

    Attributes:
        breaker: Breaks off a call in progress, from another thread; None: nothing does.

    Raises:
        LinkLost: It can't be opened.
    """

    def __init__(self, address: VisaAddress, timeout_s: float) -> None:
        until_s = time.monotonic() + timeout_s
        with _as_link_lost(f"{address.resource} can't be opened"):
            self._resource = _open(address, timeout_s)
        self._terminator = address.read_terminator
        self._block_terminator = address.block_terminator
        self.breaker: Breaker | None = None
        try:
            self.breaker = self._breaker(address, until_s)
            self._ends_by_terminator = self._configure(address)
        except BaseException:
            self.close()
            raise

    def _configure(self, address: VisaAddress) -> bool:
        """Set the attributes; return whether replies end by a terminator, not by END."""
        resource = self._resource
        with _as_link_lost(f"{address.resource} can't be configured"):
            for name, value in address.attributes.items():
                setattr(resource, name, value)
            by_terminator = (
                resource.interface_type is InterfaceType.asrl or resource.resource_class == "SOCKET"
            )
            resource.write_termination = ""
            if by_terminator:
                resource.read_termination = address.read_terminator.decode("latin-1")
        return by_terminator

    def _breaker(self, address: VisaAddress, until_s: float) -> Breaker | None:
        """Return what breaks off a call; an instrument without it is as good as any other."""
        if address.interrupt == "none":
            return None
        # Only who asks for it pays for the import of one particular backend.
        from pytest_safetyq.links.pyvisa_py_breaking import breaker_of  # noqa: PLC0415

        try:
            remaining_s = max(0.0, until_s - time.monotonic())
            breaker = breaker_of(self._resource, address.interrupt, remaining_s)
        except Exception as error:  # noqa: BLE001 - a backend raises what it likes
            reason = one_line(error)
        else:
            if breaker is not None:
                return breaker
            reason = "this wire and backend have nothing of the kind"
        log.warning(
            "%s: interrupt: %s is not offered (%s); a safety command waits for the rest of the"
            " budget in flight",
            address.resource,
            address.interrupt,
            reason,
        )
        return None

    def write(self, payload: bytes, until_s: float) -> None:
        """Send ``payload`` as it is, until the monotonic time ``until_s``."""
        with _as_link_lost("write failed"):
            self._resource.timeout = _ms_until(until_s)
            self._resource.write_raw(payload)

    def read(self, until_s: float) -> bytes:
        """Return one reply, terminator included, until the monotonic time ``until_s``.

        Where a terminator ends the reply, a definite length block (IEEE 488.2, 8.7.9) may
        contain it: such a block is read to the length that it announces, and to the
        terminator behind that, if there is one.
        """
        if self._ends_by_terminator and not self._block_terminator:
            return self._read_to_length(until_s)
        reply = self._read_message(until_s)
        if self._ends_by_terminator and reply[:1] == b"#":
            length = _block_length(reply)
            while length is not None and len(reply) < length + len(self._terminator):
                reply += self._read_message(until_s)
                length = _block_length(reply)
        return reply

    def clear(self, until_s: float) -> None:
        """Send a device clear (VPP-4.3, viClear)."""
        with _as_link_lost("device clear failed"):
            self._resource.timeout = _ms_until(until_s)
            self._resource.clear()

    def close(self) -> None:
        """Close the session; never the resource manager, which others use too."""
        if self.breaker is not None:
            self.breaker.close()
        with contextlib.suppress(LinkLost, TimeoutError), _as_link_lost("close failed"):
            self._resource.close()

    def _read_to_length(self, until_s: float) -> bytes:
        """Return one reply, of a block not one byte more than it announces: none would come."""
        reply = self._read_bytes(1, until_s)
        if reply == b"#":
            reply += self._read_bytes(1, until_s)
            if reply[1:].isdigit() and reply != b"#0":
                reply += self._read_bytes(int(reply[1:]), until_s)
                length = _block_length(reply)
                if length is not None:
                    return reply + self._read_bytes(length - len(reply), until_s)
        return reply if reply == self._terminator else reply + self._read_message(until_s)

    def _read_bytes(self, count: int, until_s: float) -> bytes:
        with _as_link_lost("read failed"):
            self._resource.timeout = _ms_until(until_s)
            return bytes(self._resource.read_bytes(count))

    def _read_message(self, until_s: float) -> bytes:
        with _as_link_lost("read failed"):
            self._resource.timeout = _ms_until(until_s)
            message = bytes(self._resource.read_raw(CHUNK_BYTES))
        if not message:
            # PyVISA-py's HiSLIP returns this at once where no question is open: to whoever
            # waits for silence it would be one reply after the other, and never silence.
            raise TimeoutError("read failed: there is nothing to read")
        return message


def _open(address: VisaAddress, timeout_s: float) -> Any:
    manager = pyvisa.ResourceManager(address.library)
    if address.library.endswith("@sim"):
        _require_listed(manager, address.resource)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # backends warn of optional packages at every open
        resource = manager.open_resource(address.resource, open_timeout=int(timeout_s * 1000))
    if not isinstance(resource, MessageBasedResource):
        resource.close()
        raise LinkLost(f"{address.resource} is no message based resource")
    return resource


def _require_listed(manager: Any, resource: str) -> None:
    """Refuse an address that the simulation doesn't have: pyvisa-sim itself opens anything."""
    listed = manager.visalib.devices.list_resources()
    if to_canonical_name(resource) not in listed:
        raise LinkLost(f"the simulation has no address {resource}")


def _block_length(reply: bytes) -> int | None:
    """Return the length of the block that ``reply`` begins with; None if it isn't one."""
    digits = reply[1:2]
    if not digits.isdigit() or digits == b"0":
        return None
    size = reply[2 : 2 + int(digits)]
    return 2 + int(digits) + int(size) if size.isdigit() else None


def _ms_until(until_s: float) -> int:
    """Return whole milliseconds, rounded down so that the backend gives up first; at least 1."""
    return max(1, int((until_s - time.monotonic()) * 1000))


@contextlib.contextmanager
def _as_link_lost(what: str) -> Iterator[None]:
    """Let nothing out but ``TimeoutError`` and `LinkLost`, which says ``what`` failed."""
    try:
        yield
    except (LinkLost, TimeoutError):
        raise
    except errors.VisaIOError as error:
        if error.error_code == StatusCode.error_timeout:
            raise TimeoutError(what) from error
        raise LinkLost(f"{what}: {one_line(error)}") from error
    except Exception as error:
        raise LinkLost(f"{what}: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """Return what ``error`` says, on one line that can be read."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."

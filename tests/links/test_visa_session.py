"""`VisaSession`: what PyVISA and its backends raise leaves as two families; blocks are whole."""

import contextlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import serial
from pyvisa import errors
from pyvisa.constants import InterfaceType, StatusCode

from pytest_safetyq import LinkLost
from pytest_safetyq.links.visa_session import VisaAddress, VisaSession, one_line


class Resource:
    """Stands for a PyVISA resource.

    Where it ends replies by a terminator it reads to the next one, as PyVISA does; else a
    reply is read as it is listed.
    """

    def __init__(self, *replies: bytes, ends_by_terminator: bool = True) -> None:
        self.interface_type = InterfaceType.tcpip if ends_by_terminator else InterfaceType.gpib
        self.resource_class = "SOCKET" if ends_by_terminator else "INSTR"
        self.read_termination: str | None = None
        self.write_termination = "as PyVISA has it"
        self.written: list[bytes] = []
        self.closed = 0
        self.timeouts: list[int] = []
        self.fails: dict[str, BaseException] = {}
        self._replies = deque([b"".join(replies)] if ends_by_terminator else replies)

    @property
    def timeout(self) -> int:
        return self.timeouts[-1]

    @timeout.setter
    def timeout(self, value: int) -> None:
        self._maybe_fail("timeout")
        self.timeouts.append(value)

    def write_raw(self, payload: bytes) -> None:
        self._maybe_fail("write")
        self.written.append(payload)

    def read_raw(self, size: int) -> bytes:
        self._maybe_fail("read")
        if not self._replies or (self.read_termination and not self._replies[0]):
            raise errors.VisaIOError(StatusCode.error_timeout)
        reply = self._replies.popleft()
        if self.read_termination is None:
            return reply
        head, terminator, rest = reply.partition(self.read_termination.encode())
        self._replies.appendleft(rest)
        if not terminator:
            raise errors.VisaIOError(StatusCode.error_timeout)
        return head + terminator

    def clear(self) -> None:
        self._maybe_fail("clear")

    def close(self) -> None:
        self.closed += 1
        self._maybe_fail("close")

    def _maybe_fail(self, what: str) -> None:
        if what in self.fails:
            raise self.fails[what]


@pytest.fixture
def session_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., VisaSession]:
    def open_on(resource: Any, **address: Any) -> VisaSession:
        monkeypatch.setattr(
            "pytest_safetyq.links.visa_session._open", lambda address, timeout_s: resource
        )
        return VisaSession(VisaAddress(resource="X", **address), 1.0)

    return open_on


def soon() -> float:
    return time.monotonic() + 1.0


TIMED_OUT = [errors.VisaIOError(StatusCode.error_timeout), TimeoutError("timed out")]
LOST = [
    errors.VisaIOError(StatusCode.error_io),
    errors.VisaIOError(StatusCode.error_connection_lost),
    errors.VisaIOError(StatusCode.error_resource_not_found),
    errors.InvalidSession(),
    ConnectionResetError(104, "reset"),
    BrokenPipeError(32, "broken pipe"),
    OSError(5, "input/output error"),
    serial.SerialException("device reports readiness to read but returned no data"),
    RuntimeError("no bytes"),
    NotImplementedError(),
    ValueError("strange"),
    AttributeError("None has no recv"),
]
CALLS: dict[str, Callable[[VisaSession], object]] = {
    "write": lambda session: session.write(b"X\n", soon()),
    "read": lambda session: session.read(soon()),
    "clear": lambda session: session.clear(soon()),
}


@pytest.mark.parametrize("error", TIMED_OUT, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("call", CALLS)
def test_a_timeout_of_any_family_is_a_timeout(
    session_of: Callable[..., VisaSession], call: str, error: Exception
) -> None:
    resource = Resource()
    resource.fails[call] = error
    with pytest.raises(TimeoutError) as caught:
        CALLS[call](session_of(resource))
    assert not isinstance(caught.value, LinkLost)


@pytest.mark.parametrize("error", LOST, ids=lambda e: f"{type(e).__name__} {e}"[:40])
@pytest.mark.parametrize("call", CALLS)
def test_every_other_error_is_a_lost_link_that_says_what_it_was(
    session_of: Callable[..., VisaSession], call: str, error: Exception
) -> None:
    resource = Resource()
    resource.fails[call] = error
    with pytest.raises(LinkLost, match=f"^{'device clear' if call == 'clear' else call} failed: "):
        CALLS[call](session_of(resource))


@pytest.mark.parametrize("call", CALLS)
def test_a_session_that_somebody_has_closed_is_a_lost_link(
    session_of: Callable[..., VisaSession], call: str
) -> None:
    """PyVISA says so already when the timeout is set."""
    resource = Resource()
    session = session_of(resource)
    resource.fails["timeout"] = errors.InvalidSession()
    with pytest.raises(LinkLost):
        CALLS[call](session)


@pytest.mark.parametrize("error", [*TIMED_OUT, *LOST], ids=lambda e: f"{type(e).__name__} {e}"[:40])
def test_closing_never_raises(session_of: Callable[..., VisaSession], error: Exception) -> None:
    resource = Resource()
    session = session_of(resource)
    resource.fails["close"] = error
    session.close()
    assert resource.closed == 1


def test_an_interrupt_is_nobodys_lost_link(session_of: Callable[..., VisaSession]) -> None:
    resource = Resource()
    resource.fails["read"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        session_of(resource).read(soon())


@pytest.mark.parametrize("call", CALLS)
def test_the_backend_is_given_the_rest_of_the_budget_and_at_least_a_millisecond(
    session_of: Callable[..., VisaSession], call: str
) -> None:
    resource = Resource(b"1\n")
    session = session_of(resource)
    before = time.monotonic()
    act = {
        "write": lambda until: session.write(b"X\n", until),
        "read": session.read,
        "clear": session.clear,
    }[call]
    act(before + 0.5)
    assert 0 < resource.timeouts[-1] <= 500, "it must give up before the deadline"
    with contextlib.suppress(TimeoutError):  # there is a second reply for nobody
        act(before - 5.0)
    assert resource.timeouts[-1] == 1, "0 would be: immediately, and less an error"


def test_messages_go_out_as_they_are(session_of: Callable[..., VisaSession]) -> None:
    resource = Resource()
    session = session_of(resource)
    session.write(b"\x00\xff\n", soon())
    assert resource.written == [b"\x00\xff\n"]
    assert resource.write_termination == ""


@pytest.mark.parametrize(
    ("interface", "resource_class", "by_terminator"),
    [
        (InterfaceType.asrl, "INSTR", True),
        (InterfaceType.tcpip, "SOCKET", True),
        (InterfaceType.tcpip, "INSTR", False),
        (InterfaceType.gpib, "INSTR", False),
        (InterfaceType.usb, "INSTR", False),
    ],
)
def test_a_terminator_ends_replies_only_where_the_wire_has_no_end(
    session_of: Callable[..., VisaSession],
    interface: InterfaceType,
    resource_class: str,
    by_terminator: bool,
) -> None:
    resource = Resource()
    resource.interface_type, resource.resource_class = interface, resource_class
    session_of(resource, read_terminator=b"\r")
    assert resource.read_termination == ("\r" if by_terminator else None)


# Blocks.


@pytest.mark.parametrize(
    "block",
    [
        b"#15a\ncd\n",
        b"#210\n\n\n\n\n\n\n\n\n\n",
        b"#3001x",
        b"#10",
        b"#14abc\n",
        b"#9000000002\n\n",
    ],
    ids=repr,
)
def test_a_block_is_read_whole_and_its_terminator_with_it(
    session_of: Callable[..., VisaSession], block: bytes
) -> None:
    """IEEE 488.2, 8.7.9: a definite length block may contain whatever ends a reply."""
    session = session_of(Resource(block + b"\n", b"next\n"))
    assert session.read(soon()) == block + b"\n"
    assert session.read(soon()) == b"next\n"


@pytest.mark.parametrize(
    "reply", [b"#0\x01\x02\n", b"#\n", b"#x5ab\n", b"#H1F\n", b"#3ab\n", b"\n"]
)
def test_what_only_looks_like_a_block_ends_at_its_terminator(
    session_of: Callable[..., VisaSession], reply: bytes
) -> None:
    session = session_of(Resource(reply, b"next\n"))
    assert session.read(soon()) == reply
    assert session.read(soon()) == b"next\n"


def test_a_block_that_is_cut_short_is_a_timeout(session_of: Callable[..., VisaSession]) -> None:
    with pytest.raises(TimeoutError):
        session_of(Resource(b"#15a\n")).read(soon())


def test_where_the_wire_has_an_end_a_block_is_what_one_read_gives(
    session_of: Callable[..., VisaSession],
) -> None:
    session = session_of(Resource(b"#15a\ncd", b"next\n", ends_by_terminator=False))
    assert session.read(soon()) == b"#15a\ncd"
    assert session.read(soon()) == b"next\n"


# Attributes.


def test_attributes_are_set(session_of: Callable[..., VisaSession]) -> None:
    resource = Resource()
    session_of(resource, attributes={"baud_rate": 115200})
    assert vars(resource)["baud_rate"] == 115200


def test_an_attribute_that_is_refused_is_a_lost_link_and_leaves_nothing_open(
    session_of: Callable[..., VisaSession],
) -> None:
    resource = Resource()
    resource.fails["timeout"] = ValueError("not a time")
    with pytest.raises(LinkLost, match="X can't be configured: not a time"):
        session_of(resource, attributes={"timeout": "soon"})
    assert resource.closed == 1


def test_an_error_is_told_in_one_line() -> None:
    assert one_line(OSError("one\n  two\tthree")) == "one two three"
    assert one_line(NotImplementedError()) == "NotImplementedError"
    assert len(one_line(OSError("x" * 1000))) == 300


def test_the_address_is_data_that_stays_as_it_is() -> None:
    address = VisaAddress(resource="X")
    assert (address.library, dict(address.attributes), address.read_terminator) == ("", {}, b"\n")
    with pytest.raises(AttributeError):
        address.resource = "Y"  # type: ignore[misc]


def test_an_empty_message_is_none(session_of: Callable[..., VisaSession]) -> None:
    """PyVISA-py's HiSLIP returns it at once where no question is open."""
    session = session_of(Resource(b"1\n", b"", ends_by_terminator=False))
    assert session.read(soon()) == b"1\n"
    with pytest.raises(TimeoutError):
        session.read(soon())

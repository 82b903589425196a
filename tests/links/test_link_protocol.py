"""What a link is: the protocol, and raw messages."""

from collections.abc import Callable

from pytest_safetyq.links import CallbackLink, DeadlineLink, Link, RawBytes, ScriptedLink
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress


def test_a_raw_message_is_bytes_and_equal_to_them() -> None:
    raw = RawBytes(b"\x00\n")
    assert isinstance(raw, bytes)
    assert raw == b"\x00\n"


def test_what_lacks_a_method_is_no_link() -> None:
    class NoReopening:
        resync_budget_s = 0.5

        async def write(self, payload: bytes, /) -> None: ...

        async def read(self) -> bytes:
            return b""

        async def close(self) -> None: ...

    assert not isinstance(NoReopening(), Link)


def test_only_a_link_that_sets_its_own_timeouts_is_told_the_deadline() -> None:
    class WithDeadline:
        resync_budget_s = 0.5
        deadline_s = 0.0
        lost = False
        has_unread = False

        async def write(self, payload: bytes, /) -> None: ...

        async def read(self) -> bytes:
            return b""

        async def resynchronise(
            self, *, owed: int, lost: bool, discard: Callable[[], None]
        ) -> None: ...

        async def close(self) -> None: ...

    assert isinstance(WithDeadline(), DeadlineLink)
    assert isinstance(VisaLink(VisaAddress(resource="GPIB0::5::INSTR")), DeadlineLink)


async def test_a_scripted_link_has_no_deadline() -> None:
    assert isinstance(ScriptedLink(), Link)
    assert not isinstance(ScriptedLink(), DeadlineLink)


async def test_a_new_link_may_take_half_a_second_to_resynchronise() -> None:
    async def read() -> bytes:
        return b""

    async def write(payload: bytes) -> None: ...

    assert CallbackLink(read, write).resync_budget_s == 0.5
    assert ScriptedLink().resync_budget_s == 0.5
    assert ScriptedLink(resync_budget_s=0.1).resync_budget_s == 0.1

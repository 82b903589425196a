"""What a link is: the protocol, and raw messages."""

from pytest_safetyq.links import CallbackLink, Link, RawBytes, ScriptedLink


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


async def test_a_new_link_may_take_half_a_second_to_resynchronise() -> None:
    async def read() -> bytes:
        return b""

    async def write(payload: bytes) -> None: ...

    assert CallbackLink(read, write).resync_budget_s == 0.5
    assert ScriptedLink().resync_budget_s == 0.5
    assert ScriptedLink(resync_budget_s=0.1).resync_budget_s == 0.1

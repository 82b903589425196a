"""Where a reply ends on a stream: whatever the chunks, and whatever is inside a block."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_safetyq import LinkLost
from pytest_safetyq.links.reply_framer import ReplyFramer


def replies(framer: ReplyFramer, *chunks: bytes) -> list[bytes]:
    found = []
    for chunk in chunks:
        framer.feed(chunk)
        while (reply := framer.next_reply()) is not None:
            found.append(reply.content)
    return found


@pytest.mark.parametrize(
    ("terminator", "sent", "found"),
    [
        (b"\n", b"1\n2\n", [b"1", b"2"]),
        (b"\n", b"1\r\n2\r\n", [b"1", b"2"]),
        (b"\r", b"1\r\n2\r\n", [b"1", b"2"]),
        (b"\r\n", b"1\r\n2\r\n", [b"1", b"2"]),
        (b"\r\n", b"1\n2\r\n", [b"1\n2"]),
        (b"\n", b"\r1\n\r2\n", [b"1", b"2"]),
        (b"\n", b"\n1\n", [b"", b"1"]),
        (b"\r", b"\r\n1\r", [b"", b"1"]),
        (b"\r\n", b"\n\r\n1\r\n", [b"", b"1"]),
        (b"\n", b"1", []),
        (b"\n", b" 1 \n", [b" 1 "]),
        (b"OK\n", b"1OK\n2OK\n", [b"1", b"2"]),
        (b"\n", b"#15a\nb\nc\n", [b"#15a\nb\nc"]),
        (b"\n", b"#13ab\n\n2\n", [b"#13ab\n", b"2"]),
        (b"\n", b"#13a\r\n\r\n2\n", [b"#13a\r\n", b"2"]),
        (b"\n", b"1,#12\n\n,2;#11\n\n3\n", [b"1,#12\n\n,2;#11\n", b"3"]),
        (b"\n", b"#0ab\ncd\n", [b"#0ab", b"cd"]),
        (b"\n", b"#H1F\n#q\n", [b"#H1F", b"#q"]),
        (b"\n", b"a#15\nb\n", [b"a#15", b"b"]),
        (b"\n", b"#21\n2\n", [b"#21", b"2"]),
        (b"\n", b"#15ab\n", []),
        (b"#", b"1#2#", [b"1", b"2"]),
    ],
)
def test_a_reply_ends_where_it_ends(terminator: bytes, sent: bytes, found: list[bytes]) -> None:
    assert replies(ReplyFramer(terminator), sent) == found
    one_by_one = [bytes((value,)) for value in sent]
    assert replies(ReplyFramer(terminator), *one_by_one) == found


def test_what_came_on_the_wire_is_kept() -> None:
    framer = ReplyFramer()
    framer.feed(b"1\r\n")
    assert framer.next_reply() == (b"1\r\n", 1)


@pytest.mark.parametrize("rest", [b"2\n", b"\n2\n", b"\r\n2\n"])
def test_a_block_may_end_by_itself(rest: bytes) -> None:
    framer = ReplyFramer(b"\n", block_terminated=False)
    assert replies(framer, b"#15a\nb\nc" + rest) == [b"#15a\nb\nc", b"2"]


@given(
    contents=st.lists(
        st.binary(max_size=40).map(lambda b: b.translate(None, b"\r\n#"))
        | st.binary(max_size=40).map(lambda b: b"#2%02d" % len(b) + b),
        max_size=8,
    ),
    cuts=st.lists(st.integers(0, 400)),
)
def test_any_chunks_give_the_same_replies(contents: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(content + b"\n" for content in contents)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert replies(ReplyFramer(), *chunks) == contents


@given(st.lists(st.binary(max_size=20)), st.sampled_from([b"\n", b"\r\n", b"#"]))
def test_no_bytes_are_too_bad(chunks: list[bytes], terminator: bytes) -> None:
    for reply in replies(ReplyFramer(terminator), *chunks):
        assert len(reply) <= sum(map(len, chunks))


def test_a_reply_that_is_too_long_is_an_error_before_it_fills_the_memory() -> None:
    framer = ReplyFramer(limit_bytes=1000)
    with pytest.raises(LinkLost, match="longer than 1000 bytes"):
        replies(framer, *[b"x" * 100] * 11)


def test_a_block_that_announces_too_much_is_an_error_at_once() -> None:
    framer = ReplyFramer(limit_bytes=1000)
    framer.feed(b"#9999999999")
    with pytest.raises(LinkLost, match="announces 1000000010 bytes, and at most 1000"):
        framer.next_reply()


@pytest.mark.parametrize(
    ("waiting", "content"), [(b"", False), (b"\r", False), (b"\n", True), (b"1", True)]
)
def test_the_rest_of_a_terminator_is_no_content(waiting: bytes, content: bool) -> None:
    framer = ReplyFramer()
    framer.feed(waiting)
    assert framer.has_content is content


def test_more_than_one_reply_may_be_is_overfull() -> None:
    framer = ReplyFramer(limit_bytes=3)
    framer.feed(b"1\n2")
    assert not framer.is_overfull
    framer.feed(b"\n")
    assert framer.is_overfull


def test_a_stream_needs_a_terminator() -> None:
    with pytest.raises(ValueError, match="needs a terminator"):
        ReplyFramer(b"")


def test_a_long_reply_is_scanned_once() -> None:
    framer = ReplyFramer()
    for _ in range(2000):  # of the second order this would take minutes
        framer.feed(b"x" * 10_000)
        assert framer.next_reply() is None
    framer.feed(b"\n")
    reply = framer.next_reply()
    assert reply is not None
    assert len(reply.content) == 20_000_000

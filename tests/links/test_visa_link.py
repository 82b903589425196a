"""`VisaLink` on a VISA library that the test controls: opening, messages, closing."""

import asyncio
import threading
import time

import pytest
from visa_helpers import (
    IDENTITY,
    LOADED_S,
    Instrument,
    OpenLink,
    ask,
    in_background,
    link_to,
    until,
)

from pytest_safetyq import LinkLost
from pytest_safetyq.links import RawBytes
from pytest_safetyq.links.visa import VisaLink
from pytest_safetyq.links.visa_session import VisaAddress

# Opening.


async def test_opening_asks_for_the_identity(instrument: Instrument) -> None:
    link = link_to()
    assert link.identity is None
    assert await link.open(1.0) is link
    assert link.identity == IDENTITY
    assert instrument.events == ["open", "*IDN?\n"]
    assert instrument.sessions[0].thread.name == "safetyq GPIB0::5::INSTR"
    await link.close()


async def test_an_identity_query_of_its_own_is_asked(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"ID"] = (b"HP3458A\r\n", 0.0)
    link = await open_link(identity_query=b"ID", write_terminator=b"\r")
    assert link.identity == b"HP3458A"
    assert instrument.messages == ["ID\r"]


async def test_without_an_identity_query_nothing_is_sent(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link(identity_query=None)
    assert link.identity is None
    assert instrument.events == ["open"]


async def test_an_instrument_that_says_nothing_is_not_open(instrument: Instrument) -> None:
    instrument.answers.clear()
    started = time.monotonic()
    with pytest.raises(LinkLost, match=r"GPIB0::5::INSTR: no answer to \*IDN\?"):
        await link_to().open(0.1)
    assert time.monotonic() - started < 2.0
    await until(lambda: instrument.events[-1] == "close")


async def test_what_can_not_be_opened_is_lost(instrument: Instrument) -> None:
    def refuse() -> None:
        raise LinkLost("GPIB0::5::INSTR can't be opened: nobody there")

    instrument.open_hook = refuse
    with pytest.raises(LinkLost, match="nobody there"):
        await link_to().open(1.0)
    assert instrument.sessions == []


async def test_an_opening_that_hangs_is_given_up_in_time(instrument: Instrument) -> None:
    instrument.open_hook = lambda: bool(instrument.release.wait(10.0)) and None
    opening = in_background(link_to().open(0.1))
    done, _ = await asyncio.wait({opening}, timeout=0.1 + 2 * LOADED_S)
    instrument.release.set()
    assert done == {opening}, "open(0.1) has not returned after 0.6 s"
    assert isinstance(opening.exception(), LinkLost)


async def test_an_identity_query_that_hangs_is_given_up_in_time(instrument: Instrument) -> None:
    instrument.stuck = True
    opening = in_background(link_to().open(0.1))
    done, _ = await asyncio.wait({opening}, timeout=0.1 + 2 * LOADED_S)
    instrument.release.set()
    assert done == {opening}, "open(0.1) has not returned after 0.6 s"
    assert isinstance(opening.exception(), LinkLost)


async def test_a_session_that_opens_when_nobody_waits_any_more_is_closed(
    instrument: Instrument,
) -> None:
    instrument.open_hook = lambda: bool(instrument.release.wait(10.0)) and None
    opening = in_background(link_to().open(60.0))
    await asyncio.sleep(0.02)
    opening.cancel()
    await asyncio.wait({opening}, timeout=1.0)
    assert opening.cancelled()
    instrument.release.set()
    await until(lambda: instrument.sessions)
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 5.0)
    assert not thread.is_alive()
    assert instrument.events == ["open", "close"]


async def test_an_opening_cancelled_at_its_identity_query_closes_the_session(
    instrument: Instrument,
) -> None:
    instrument.answers[b"*IDN?"] = (IDENTITY, 0.2)
    opening = in_background(link_to().open(5.0))
    await until(lambda: instrument.messages)
    opening.cancel()
    await asyncio.wait({opening}, timeout=1.0)
    assert opening.cancelled()
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 1.0)
    assert instrument.events[-1] == "close"


# Messages and replies.


async def test_a_message_gets_its_terminator_once(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link(write_terminator=b"\r\n")
    for message in (b"A", b"B\r\n", b"C\n", RawBytes(b"D"), RawBytes(b"\x00\xff")):
        link.deadline_s = time.monotonic() + 1.0
        await link.write(message)
    assert instrument.messages[1:] == ["A\r\n", "B\r\n", "C\n\r\n", "D", "\x00\xff"]


async def test_a_reply_comes_without_terminator_unless_it_answers_raw_bytes(
    instrument: Instrument, open_link: OpenLink
) -> None:
    instrument.answers[b"V?"] = (b" 1.5\r\n", 0.0)
    link = await open_link()
    assert await ask(link, b"V?") == b" 1.5"
    assert await ask(link, RawBytes(b"V?\n")) == b" 1.5\r\n"
    assert await ask(link, b"V?") == b" 1.5"


async def test_a_linefeed_left_over_from_the_reply_before_is_no_part_of_the_next(
    instrument: Instrument,
) -> None:
    instrument.answers[b"V?"] = (b"\n2.5\r", 0.0)
    address = VisaAddress(resource="ASRL1::INSTR", read_terminator=b"\r")
    link = await VisaLink(address).open(1.0)
    assert await ask(link, b"V?") == b"2.5"
    await link.close()


async def test_a_link_that_was_never_opened_or_is_closed_is_lost(instrument: Instrument) -> None:
    link = link_to()
    with pytest.raises(LinkLost, match="no session"):
        await link.write(b"A")
    await link.open(1.0)
    await link.close()
    await link.close()
    with pytest.raises(LinkLost, match="no session"):
        await ask(link, b"A?")
    assert instrument.messages == ["*IDN?\n"]


async def test_closing_closes_the_session_and_ends_its_thread(
    instrument: Instrument, open_link: OpenLink
) -> None:
    link = await open_link()
    await link.close()
    thread = instrument.sessions[0].thread
    await asyncio.to_thread(thread.join, 5.0)
    assert not thread.is_alive()
    assert instrument.events[-1] == "close"


async def test_all_threads_are_daemons(instrument: Instrument, open_link: OpenLink) -> None:
    await open_link()
    threads = [t for t in threading.enumerate() if t.name.startswith("safetyq GPIB")]
    assert threads
    assert all(thread.daemon for thread in threads)

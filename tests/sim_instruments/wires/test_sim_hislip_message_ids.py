"""What waits for a message that is still on its way by the other channel."""

from __future__ import annotations

import pytest

from sim_instruments.wires.hislip.message_ids import FIRST_ID, MessageIds


@pytest.mark.parametrize(
    ("message_id", "waits"),
    [
        (FIRST_ID, True),
        (FIRST_ID + 100, True),
        (FIRST_ID - 2, False),
        (FIRST_ID - 100, False),
        # What PyVISA-py names before it has sent anything.
        (0, False),
    ],
)
def test_only_a_message_that_may_be_on_its_way_is_waited_for(message_id: int, waits: bool) -> None:
    ids = MessageIds()
    done: list[int] = []
    ids.after(message_id, lambda: done.append(message_id))
    assert done == ([] if waits else [message_id])
    ids.executed(message_id)
    assert done == [message_id]


def test_ids_wrap_around() -> None:
    ids = MessageIds()
    ids.executed(0xFFFF_FFFE)
    done: list[str] = []
    ids.after(0, lambda: done.append("first"))
    ids.after(2, lambda: done.append("second"))
    ids.executed(0)
    assert done == ["first"]
    ids.executed(2)
    assert done == ["first", "second"]


def test_a_device_clear_leaves_nothing_to_wait_for() -> None:
    ids = MessageIds()
    done: list[str] = []
    ids.after(FIRST_ID, lambda: done.append("it"))
    ids.restart()
    assert done == ["it"]


def test_replies_in_overlapped_mode_count_from_the_first_id_again_after_a_clear() -> None:
    ids = MessageIds()
    assert [ids.next_reply(), ids.next_reply()] == [FIRST_ID, FIRST_ID + 2]
    ids.restart()
    assert ids.next_reply() == FIRST_ID

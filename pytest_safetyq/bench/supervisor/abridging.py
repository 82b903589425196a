"""Records of long payloads: their beginning is evidence enough.

A record is kept for every command of a test, and all of them go to the client at its end. With
waveforms of megabytes in them they would fill the memory, and not fit in a frame.
"""

import dataclasses

from pytest_safetyq.scheduling import TransactionRecord

KEPT_BYTES = 256
"""Of a longer payload so much is kept, and behind it its length is said."""


def abridged(record: TransactionRecord) -> TransactionRecord:
    """Return ``record`` with at most ``KEPT_BYTES`` of its payload and of its name."""
    if len(record.payload) <= KEPT_BYTES and len(record.cmd_id) <= KEPT_BYTES:
        return record
    payload, cmd_id = record.payload, record.cmd_id
    if len(payload) > KEPT_BYTES:
        payload = payload[:KEPT_BYTES] + b"... (%d bytes)" % len(payload)
    if len(cmd_id) > KEPT_BYTES:
        cmd_id = f"{cmd_id[:KEPT_BYTES]}... ({len(cmd_id)} characters)"
    return dataclasses.replace(record, payload=payload, cmd_id=cmd_id)

"""Record marking: whole records out of a TCP stream, and back (RFC 5531, 11)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sim_instruments.wires.rpc.errors import RpcError

MAX_RECORD_BYTES = 16 * 1024 * 1024

_LAST_FRAGMENT = 1 << 31
_MARK = struct.Struct(">I")


class RecordReader:
    """Joins the fragments of one connection to records.

    Args:
        max_bytes: longest record; it is what one client can make the server hold.
    """

    def __init__(self, max_bytes: int = MAX_RECORD_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._record = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take a chunk and give each record that it completes.

        Raises:
            RpcError: a fragment's length would make the record longer than `max_bytes`. Nothing
                that follows can be trusted.
        """
        self._buffer += chunk
        while len(self._buffer) >= _MARK.size:
            (mark,) = _MARK.unpack_from(self._buffer)
            length = mark & ~_LAST_FRAGMENT
            if len(self._record) + length > self._max_bytes:
                raise RpcError(
                    f"record of {len(self._record) + length} bytes, at most {self._max_bytes}"
                )
            end = _MARK.size + length
            if len(self._buffer) < end:
                return
            self._record += memoryview(self._buffer)[_MARK.size : end]
            del self._buffer[:end]
            if mark & _LAST_FRAGMENT:
                record = bytes(self._record)
                self._record.clear()
                yield record


def mark_record(record: bytes) -> bytes:
    """Frame a record as one fragment."""
    return _MARK.pack(_LAST_FRAGMENT | len(record)) + record

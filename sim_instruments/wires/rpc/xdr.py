"""External data representation (RFC 4506) of the few types that calls are made of."""

from __future__ import annotations

import struct

from sim_instruments.wires.rpc.errors import GarbageArguments

_INT = struct.Struct(">i")
_UINT = struct.Struct(">I")


class XdrReader:
    """Reads one value after the other.

    Args:
        data: the encoded values.

    Every method raises `GarbageArguments` when the data end too early or are no such value.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read_int(self) -> int:
        """Read a signed integer of 32 bits."""
        return int(_INT.unpack(self._take(4))[0])

    def read_uint(self) -> int:
        """Read an unsigned integer of 32 bits."""
        return int(_UINT.unpack(self._take(4))[0])

    def read_bool(self) -> bool:
        """Read a truth value."""
        value = self.read_uint()
        if value > 1:
            raise GarbageArguments(f"{value} is no bool")
        return value == 1

    def read_opaque(self, max_bytes: int) -> bytes:
        """Read bytes of variable length."""
        length = self.read_uint()
        if length > max_bytes:
            raise GarbageArguments(f"{length} bytes, at most {max_bytes}")
        data = self._take(length)
        self._take(-length % 4)
        return data

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise GarbageArguments(f"{len(self._data)} bytes, at least {end} expected")
        data = self._data[self._at : end]
        self._at = end
        return data

    def rest(self) -> XdrReader:
        """Give a reader for what has not been read."""
        return XdrReader(self._data[self._at :])


def pack_opaque(data: bytes) -> bytes:
    """Encode bytes of variable length."""
    return _UINT.pack(len(data)) + data + bytes(-len(data) % 4)

"""What is wrong with the bytes that a client sent."""

from __future__ import annotations


class RpcError(Exception):
    """The stream is no sequence of calls: the connection cannot go on."""


class GarbageArguments(Exception):  # noqa: N818 - RFC 5531's name for it is GARBAGE_ARGS
    """The arguments of a call are not what its procedure takes."""

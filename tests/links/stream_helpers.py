"""Native links by resource name, as a bench would open them."""

from __future__ import annotations

from typing import Any

from pytest_safetyq.links.reply_framer import ReplyFramer
from pytest_safetyq.links.serial import serial_connect
from pytest_safetyq.links.stream_link import StreamLink
from pytest_safetyq.links.tcp import tcp_connect


def link_to(resource: str, *, read_terminator: bytes = b"\n", **settings: Any) -> StreamLink:
    framer = ReplyFramer(read_terminator)
    if resource.startswith("ASRL"):
        port = resource.removeprefix("ASRL").removesuffix("::INSTR")
        connect = serial_connect(resource, port, framer, {})
        return StreamLink(resource, connect, ends_with_path=False, **settings)
    _, host, port, _ = resource.split("::")
    return StreamLink(resource, tcp_connect(resource, host, int(port), framer), **settings)

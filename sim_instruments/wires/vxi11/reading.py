"""What one `device_read` takes of a reply."""

from __future__ import annotations

from sim_instruments.wires.vxi11.codes import Reason


def split_reply(reply: bytes, request_bytes: int, term_char: int | None) -> tuple[bytes, Reason]:
    """Give what one read takes of a reply, and why it ends there (VXI-11 rev. 1.0, B.6.4).

    Args:
        reply: what is left of the reply.
        request_bytes: greatest length.
        term_char: byte that ends the part, `None` if none does.
    """
    end = request_bytes
    reason = Reason(0)
    if term_char is not None:
        found = reply.find(term_char, 0, request_bytes)
        if found >= 0:
            end = found + 1
            reason |= Reason.TERM_CHAR
    data = reply[:end]
    if len(data) == request_bytes:
        reason |= Reason.REQUEST_COUNT
    if len(data) == len(reply):
        reason |= Reason.END
    return data, reason

"""What is said to one client, whatever it does with it."""

import asyncio

from pytest_safetyq.bench.wire.framing import encode
from pytest_safetyq.bench.wire.messages import Done, Failed, Message, StreamReply

MAX_UNREAD_BYTES = 32 * 1024 * 1024
"""What may pile up for a client that doesn't read; then it counts as dead."""


class Outbox:
    """Sends messages to one client; never blocks.

    Args:
        writer: The connection.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def send(self, message: Message) -> None:
        """Send ``message``, or where it can't be sent, why."""
        # What was there before counts: one long reply alone is no sign that nobody reads.
        if self._writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._writer.transport.abort()
            return
        try:
            frame = encode(message)
        except ValueError as error:
            frame = encode(_refusal(message, error))
        self._writer.write(frame)


def _refusal(message: Message, error: ValueError) -> Message:
    """Return what is said instead of a message that can't be encoded.

    Raises:
        ValueError: It is none that answers anything.
    """
    text = str(error).encode("utf-8", "backslashreplace").decode()
    if isinstance(message, Done | Failed):
        return Failed(id=message.id, kind="SafetyError", message=text)
    if isinstance(message, StreamReply):
        return StreamReply(stream=message.stream, kind="SafetyError", error=text)
    raise error

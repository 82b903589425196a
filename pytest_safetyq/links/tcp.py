"""Raw SCPI sockets (``TCPIP...::SOCKET``) in native asyncio."""

import asyncio
import os

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.byte_stream import ByteStream
from pytest_safetyq.links.reply_framer import ReplyFramer
from pytest_safetyq.links.stream_link import Connect


def tcp_connect(resource: str, host: str, port: int, framer: ReplyFramer) -> Connect:
    """Return what opens a socket for a `StreamLink`.

    asyncio sets ``TCP_NODELAY`` on every socket (bpo-27456): with Nagle's algorithm a small
    write waits for the acknowledgement of the one before, 40 ms.

    Args:
        resource: The resource name, for errors.
        host: The instrument's name or address.
        port: Its port.
        framer: Makes the framer of each connection's replies.
    """

    async def connect() -> ByteStream:
        loop = asyncio.get_running_loop()
        try:
            _, stream = await loop.create_connection(
                lambda: ByteStream(resource, framer.fresh()), host, port
            )
        except OverflowError as error:
            raise LinkLost(f"{resource} can't be opened: write a port from 1 to 65535") from error
        except OSError as error:
            # asyncio's own text says which call failed, and not why.
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise LinkLost(f"{resource} can't be opened: {why}") from error
        return stream

    return connect

"""Serial ports (``ASRL...``) in native asyncio, through pyserial-asyncio."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from pytest_safetyq.errors import LinkLost
from pytest_safetyq.links.byte_stream import ByteStream
from pytest_safetyq.links.reply_framer import ReplyFramer
from pytest_safetyq.links.stream_link import Connect


def serial_connect(
    resource: str, port: str, framer: ReplyFramer, settings: Mapping[str, Any]
) -> Connect:
    """Return what opens a serial port for a `StreamLink`.

    Args:
        resource: The resource name, for errors.
        port: The port's name for the system, such as ``/dev/ttyUSB0`` or ``COM3``.
        framer: Makes the framer of each connection's replies.
        settings: pyserial's: ``baudrate``, ``bytesize``, ``parity``, ``stopbits``, ``xonxoff``,
            ``rtscts``, ``dsrdtr``.
    """

    async def connect() -> ByteStream:
        import serial  # noqa: PLC0415 - only a bench with a serial port pays for it
        import serial_asyncio  # noqa: PLC0415

        loop = asyncio.get_running_loop()
        stream = ByteStream(resource, framer.fresh(), purge=_purge)
        try:
            await serial_asyncio.create_serial_connection(
                loop, lambda: stream, port, exclusive=True, **settings
            )
            await stream.opened()
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkLost(f"{resource} can't be opened: {' '.join(str(error).split())}") from error
        return stream

    return connect


def _purge(transport: asyncio.BaseTransport) -> None:
    """Throw away what flow control holds back: closing the port would wait for it, for ever."""
    port = transport.get_extra_info("serial")
    # A port that has vanished says so by SerialException, OSError or termios.error.
    with contextlib.suppress(Exception):
        port.reset_output_buffer()

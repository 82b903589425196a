"""A HiSLIP client that can do what PyVISA cannot: every message, also wrong ones."""

from __future__ import annotations

import asyncio
import struct
from typing import Self

from scripted_bench import connect

from sim_instruments.wires.hislip.codes import MessageType
from sim_instruments.wires.hislip.messages import Message

HEADER = struct.Struct(">2sBBIQ")
PATIENCE_S = 10.0


class Channel:
    """One of the two connections."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int) -> Self:
        return cls(*await connect(port))

    def send(self, kind: int, control: int = 0, parameter: int = 0, payload: bytes = b"") -> None:
        self.writer.write(Message(kind, control, parameter, payload).encode())

    async def receive(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            header = await self.reader.readexactly(HEADER.size)
            prologue, kind, control, parameter, length = HEADER.unpack(header)
            assert prologue == b"HS"
            return Message(kind, control, parameter, await self.reader.readexactly(length))

    async def at_end(self) -> bool:
        """Whether the server closes the connection, without another byte."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read(1) == b""

    async def ask(
        self, kind: int, control: int = 0, parameter: int = 0, payload: bytes = b""
    ) -> Message:
        self.send(kind, control, parameter, payload)
        return await self.receive()

    async def is_silent(self) -> bool:
        """Whether nothing has come. The server has answered something else meanwhile."""
        try:
            async with asyncio.timeout(0.02):
                return await self.reader.read(1) == b"never"
        except TimeoutError:
            return True


class Client:
    """A session."""

    def __init__(self, sync: Channel, async_: Channel, number: int) -> None:
        self.sync = sync
        self.async_ = async_
        self.number = number
        self.message_id = 0xFFFF_FF00

    @classmethod
    async def connect(cls, port: int, *, version: int = 0x0100) -> Self:
        sync = await Channel.connect(port)
        opened = await sync.ask(
            MessageType.INITIALIZE, 0, version << 16 | 0x7878, payload=b"hislip0"
        )
        assert opened.kind == MessageType.INITIALIZE_RESPONSE, opened
        number = opened.parameter & 0xFFFF
        async_ = await Channel.connect(port)
        joined = await async_.ask(MessageType.ASYNC_INITIALIZE, 0, number)
        assert joined.kind == MessageType.ASYNC_INITIALIZE_RESPONSE, joined
        return cls(sync, async_, number)

    def write(
        self, text: str, *, rmt: bool = False, kind: MessageType = MessageType.DATA_END
    ) -> int:
        """Send a part of a message; give its ID."""
        sent, self.message_id = self.message_id, (self.message_id + 2) & 0xFFFF_FFFF
        self.sync.send(kind, rmt, sent, text.encode())
        return sent

    async def read(self) -> Message:
        return await self.sync.receive()

    async def query(self, text: str, *, rmt: bool = True) -> str:
        sent = self.write(text, rmt=rmt)
        reply = await self.read()
        assert (reply.kind, reply.parameter) == (MessageType.DATA_END, sent), reply
        return reply.payload.decode().strip()

    async def lock(self, key: str = "", *, timeout_ms: int = 0) -> int:
        response = await self.async_.ask(MessageType.ASYNC_LOCK, 1, timeout_ms, key.encode())
        assert response.kind == MessageType.ASYNC_LOCK_RESPONSE
        return response.control

    async def unlock(self) -> int:
        last = (self.message_id - 2) & 0xFFFF_FFFF
        response = await self.async_.ask(MessageType.ASYNC_LOCK, 0, last)
        assert response.kind == MessageType.ASYNC_LOCK_RESPONSE
        return response.control

    async def status(self, *, rmt: bool = False) -> int:
        response = await self.async_.ask(MessageType.ASYNC_STATUS_QUERY, rmt, self.message_id)
        assert response.kind == MessageType.ASYNC_STATUS_RESPONSE, response
        return response.control

    async def clear(self, *, overlapped: bool = False) -> int:
        started = await self.async_.ask(MessageType.ASYNC_DEVICE_CLEAR)
        assert started.kind == MessageType.ASYNC_DEVICE_CLEAR_ACKNOWLEDGE, started
        self.sync.send(MessageType.DEVICE_CLEAR_COMPLETE, overlapped)
        while (message := await self.read()).kind != MessageType.DEVICE_CLEAR_ACKNOWLEDGE:
            pass
        self.message_id = 0xFFFF_FF00
        return message.control

    def vanish(self) -> None:
        """Be gone without a word, as after `kill -9`."""
        self.sync.writer.transport.abort()
        self.async_.writer.transport.abort()

"""What the blocking and the asyncio handle of an instrument have in common."""

from typing import NoReturn

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.bench import Bench
from pytest_safetyq.bench.client.pyvisa_habits import hint
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.scheduling import Priority

__tracebackhide__ = True  # pytest shows the test that failed, not the way from here


LONGEST_NAME = 256
"""Characters of a command that name it in the records."""


class Handle:
    """One open instrument; how its requests look.

    It takes no attributes: one that nothing looks at, such as PyVISA's ``timeout``, would
    change nothing, and nobody would notice.

    Args:
        bench: The bench.
        opened: What is known of the instrument.
    """

    __slots__ = ("__weakref__", "_bench", "_opened")

    def __init__(self, bench: Bench, opened: m.OpenedInstrument) -> None:
        self._bench = bench
        self._opened = opened

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}{hint(name)}", name=name, obj=self
        )

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__}.{name} can't be set{hint(name)}", name=name, obj=self
            ) from None

    @property
    def name(self) -> str:
        """Its name on the bench."""
        return self._opened.name

    @property
    def resource_name(self) -> str:
        """Its VISA resource name."""
        return self._opened.resource

    @property
    def model(self) -> str:
        """The name of its profile."""
        return self._opened.model

    @property
    def identity(self) -> str:
        """What it answered to the identification query when it was opened."""
        return self._opened.identity

    @property
    def simulated(self) -> bool:
        """Whether this is a simulation and no hardware."""
        return self._opened.simulated

    @property
    def latched(self) -> bool:
        """Whether it is tripped and not rearmed: then everything but SAFETY is refused."""
        return self._bench.state(self.name).latched

    def __repr__(self) -> str:
        kind = "SIMULATED" if self.simulated else "REAL"
        return f"<{type(self).__name__} {self.name} {self.resource_name} {self.model} {kind}>"

    def _begin(
        self,
        command: str | bytes,
        priority: Priority,
        timeout_s: float | None,
        *,
        expect_reply: bool | None = None,
        raw: bool = False,
    ) -> Answer:
        """Send one command to the supervisor; return the future of the reply, as bytes."""
        payload = encoded(command) if isinstance(command, str) else raw_bytes(command)
        cmd_id = payload[:LONGEST_NAME].decode("latin-1")
        return self._bench.submit(
            self.name,
            cmd_id,
            payload,
            priority,
            raw=raw,
            timeout_s=timeout_s,
            expect_reply=expect_reply,
        )

    def _begin_block(self, command: str, priority: Priority, timeout_s: float | None) -> Answer:
        """Send a query whose reply is binary: nothing may be stripped from it."""
        payload = encoded(command) + self._opened.write_terminator
        return self._begin(payload, priority, timeout_s, expect_reply=True, raw=True)


def encoded(command: str) -> bytes:
    """Return ``command`` as it goes on the wire: one byte per character.

    Raises:
        ValueError: It has characters that no instrument takes, or is more than one message:
            each would have a reply of its own, and only one is read.
    """
    if "\n" in command.rstrip("\r\n"):
        raise ValueError(f"{command!r} has a line break inside; send one message at a time")
    try:
        return command.encode("latin-1")
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise ValueError(f"{command!r} can't be sent: {wrong!r} is no Latin-1 character") from error


def raw_bytes(payload: bytes) -> bytes:
    """Return ``payload`` as bytes.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(payload, (bytes, bytearray, memoryview)):
        raise TypeError(f"a command is text or bytes, not {type(payload).__name__}: {payload!r}")
    return bytes(payload)


def text_of(reply: bytes) -> str:
    """Return a reply as text, one character per byte."""
    return reply.decode("latin-1")

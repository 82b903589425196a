"""What the wires need of an instrument, whoever plays it."""

from __future__ import annotations

from typing import Protocol


class Response(Protocol):
    """What an instrument gives back for one program message."""

    @property
    def reply(self) -> str | None:
        """The response message without terminator, `None` when there is none."""

    @property
    def takes_s(self) -> float:
        """Seconds until it is available."""

    @property
    def lost(self) -> bool:
        """Whether the message was thrown away instead of executed."""


class Device(Protocol):
    """One instrument, shared by all its clients.

    `sim_instruments.model.instrument.Instrument` is one, `PlainDevice` another.
    """

    @property
    def client_limit(self) -> int | None:
        """How many clients it takes at a time, `None` for any number."""

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> Response:
        """Execute one program message without its terminator, received at `now_s`."""

    def overrun(self) -> None:
        """Note that a message was too long for the input buffer (-363)."""

    def interrupted(self) -> None:
        """Note that a message came before the reply to the last was read (-410)."""

    def unterminated(self) -> None:
        """Note that a reply was read for which nothing had asked (-420)."""

    def device_clear(self) -> None:
        """Do what a device clear does to the instrument itself (IEEE 488.2, 5.8)."""

    def status_byte(self, reply_waiting: bool) -> int:
        """The status byte as a serial poll reads it (IEEE 488.2, 11.2)."""

    def output(self) -> dict[str, bool]:
        """Whether each output is on, by channel name; empty without outputs."""

    def set_trait(self, name: str, value: object) -> None:
        """Change a trait of the running instrument.

        Raises:
            ValueError: in one line, why it has no such trait or does not take the value.
        """

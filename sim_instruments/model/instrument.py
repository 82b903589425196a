"""The device model: program messages in, replies and a new state out. It knows no wire."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sim_instruments.model.attention import Attention
from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import Call
from sim_instruments.model.commands import build_commands, default_values, setting_kinds
from sim_instruments.model.description import Description
from sim_instruments.model.drive import OperatingPoint
from sim_instruments.model.message import decode, split_unit, split_units
from sim_instruments.model.output_stage import OutputStage
from sim_instruments.model.phrases import Phrases
from sim_instruments.model.readings import Measurements
from sim_instruments.model.scpi_errors import (
    INPUT_BUFFER_OVERRUN,
    QUERY_INTERRUPTED,
    QUERY_UNTERMINATED,
    ScpiError,
)
from sim_instruments.model.status import Status
from sim_instruments.model.watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class Answer:
    """What an instrument gives back for one program message.

    Attributes:
        reply: the response message without terminator, `None` when there is none.
        takes_s: seconds that the instrument is busy with the message, once it is done with those
            before; then the reply is available.
        lost: whether the message was thrown away instead of executed.
    """

    reply: str | None
    takes_s: float
    lost: bool = False


_LOST = Answer(None, 0.0, lost=True)


class Instrument:
    """One simulated instrument.

    Args:
        description: what it is.
        clock: monotonic time in seconds, read wherever a method is not told the time.

    Raises:
        ValueError: in one line, what the description has wrong.
    """

    def __init__(
        self, description: Description, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        scpi, traits = description.scpi, description.traits
        self.identity = description.identity
        """What it answers to `*IDN?`, empty if it does not."""
        self.traits = traits
        """What is unusual about it now; `set_trait` changes them."""
        self.status = Status()
        self._clock = clock
        self._channels = Channels(description.circuits, default_values(scpi), traits)
        self._stage = OutputStage(scpi.role, self._channels, description.circuits, traits)
        self._channels.switching = self._stage.switching
        self._attention = Attention(traits)
        self._watchdog = Watchdog(self._stage)
        measurements = Measurements(self._channels, self._stage, scpi.number_format, clock())
        self._tree = build_commands(
            description, self._channels, self.status, measurements, self._reset
        )
        self._phrases = Phrases(description.phrases, setting_kinds(scpi), self._channels)
        if traits.watchdog:
            self._watchdog.add_to(self._tree)
        traits.apply_to(self._tree)

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> Answer:
        """Execute one program message.

        Replies of one message are joined by semicolons (IEEE 488.2, 8.4.1) and are available
        together. What goes wrong is in the error queue afterwards. A command error (-1xx) ends the
        message there, as the parser cannot trust what follows; after any other error the next unit
        is executed.

        Args:
            message: the message without its terminator.
            reply_waiting: whether an earlier reply is unread, which `*STB?` shows (bit 4).
            now_s: monotonic time in seconds, the clock's unless given; it never goes back.
        """
        now_s = self._advance(now_s)
        self._watchdog.feed(now_s)
        if not self._attention.takes(now_s):
            return _LOST
        self.status.reply_waiting = reply_waiting
        replies: list[str] = []
        takes_s = 0.0
        path = ""
        try:
            for unit in split_units(decode(message)):
                said, reply = self._understood(unit)
                if not said:
                    header, parameters = split_unit(unit)
                    call = self._tree.resolve(header, path)
                    path = call.path
                    takes_s += call.command.takes_s
                    reply = self._run(call, parameters)
                if reply is not None:
                    replies.append(reply)
        except ScpiError as error:
            self.status.record(error.code)
        self._attention.occupy(now_s, takes_s)
        return Answer(None if self.traits.mute or not replies else ";".join(replies), takes_s)

    def interrupted(self) -> None:
        """Note that a message came before the last reply was read (IEEE 488.2, 6.3.2.3)."""
        self.status.record(QUERY_INTERRUPTED)

    def unterminated(self) -> None:
        """Note that a reply was asked for, and no query (IEEE 488.2, 6.3.2.2)."""
        self.status.record(QUERY_UNTERMINATED)

    def overrun(self) -> None:
        """Note that a message was longer than the input buffer, and lost."""
        self.status.record(INPUT_BUFFER_OVERRUN)

    def device_clear(self) -> None:
        """Do the instrument's part of a device clear: no reply waits any more.

        Parser and output queue are empty, settings and status stay (IEEE 488.2, 5.8). What the
        instrument is busy with is finished first, `*RST` above all.
        """
        self.status.reply_waiting = False

    def status_byte(self, reply_waiting: bool) -> int:
        """The status byte, with the master summary in bit 6 as `*STB?` has it (IEEE 488.2, 11.2).

        A serial poll of a real bus has RQS there, which it clears: no wire here requests service.

        Args:
            reply_waiting: whether a reply is unread, which is bit 4.
        """
        self.status.reply_waiting = reply_waiting
        return self.status.status_byte()

    def output(self, *, now_s: float | None = None) -> dict[str, bool]:
        """Whether each output is on in fact, by channel name; empty without outputs."""
        self._advance(now_s)
        return self._stage.output()

    def terminals(self, *, now_s: float | None = None) -> dict[str, OperatingPoint]:
        """What stands at each channel's terminals, whatever the instrument says about it."""
        self._advance(now_s)
        return {channel: self._stage.point(channel) for channel in self._channels.names}

    def set_trait(self, name: str, value: object, *, now_s: float | None = None) -> None:
        """Change a trait of the running instrument.

        Args:
            name: as in `Traits`.
            value: as in a bench file, or of the trait's own type.
            now_s: see `execute`.

        Raises:
            ValueError: in one line, why not; then nothing has changed.
        """
        changed = self.traits.changed(name, value)
        self._advance(now_s)
        if changed.watchdog and not self.traits.watchdog:
            self._watchdog.add_to(self._tree)
        changed.apply_to(self._tree)
        if self.traits.watchdog and not changed.watchdog:
            self._watchdog.take_from(self._tree)
        self.traits = changed
        self._channels.traits = self._stage.traits = self._attention.traits = changed

    @property
    def client_limit(self) -> int | None:
        """How many clients it takes at a time, `None` for any number."""
        return self.traits.clients

    def _advance(self, now_s: float | None) -> float:
        """Let the time pass that no message has told of."""
        if now_s is None:
            now_s = self._clock()
        self._watchdog.bite(now_s)
        self._stage.advance(now_s)
        return now_s

    def _reset(self) -> None:
        self._channels.reset()
        self._watchdog.reset()

    def _understood(self, unit: str) -> tuple[bool, str | None]:
        try:
            return self._phrases.understand(unit)
        except ScpiError as error:
            self.status.record(error.code)
            return True, None

    def _run(self, call: Call, parameters: list[str]) -> str | None:
        try:
            reply = call.command.run(parameters, call.channel)
        except ScpiError as error:
            if error.is_command_error:
                raise
            self.status.record(error.code)
            return None
        if reply is None and not call.command.header.is_query:
            return self.traits.replies_to_settings or None
        return None if call.command.mute else reply

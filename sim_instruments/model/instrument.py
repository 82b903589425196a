"""The device model: program messages in, replies and a new state out. It knows no wire."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import Call, CommandTree
from sim_instruments.model.common_commands import accept_anything, add_common_commands, fixed_reply
from sim_instruments.model.description import Description
from sim_instruments.model.message import decode, split_unit, split_units
from sim_instruments.model.readings import Measurements
from sim_instruments.model.scpi_errors import ScpiError
from sim_instruments.model.settings import SelectorCommands, SettingCommands
from sim_instruments.model.status import Status
from sim_instruments.model.values import Kind, Value


@dataclass(frozen=True, slots=True)
class Answer:
    """What an instrument gives back for one program message.

    Attributes:
        reply: the response message without terminator, `None` when there is none.
        takes_s: seconds until it is available.
    """

    reply: str | None
    takes_s: float


class Instrument:
    """One simulated instrument.

    Args:
        description: what it is.

    Raises:
        ValueError: in one line, what the description has wrong.
    """

    def __init__(self, description: Description) -> None:
        scpi = description.scpi
        kinds = {name: setting.kind(scpi.number_format) for name, setting in scpi.settings.items()}
        defaults = {
            name: _default(name, kinds[name], scpi.settings[name].default) for name in kinds
        }
        self.status = Status()
        self._mute = description.traits.mute
        self._tree = CommandTree()
        self._channels = Channels(
            description.circuits, defaults, output_stuck_on=description.traits.output_stuck_on
        )
        self._add_commands(description, kinds)
        description.traits.apply_to(self._tree)

    def execute(self, message: bytes, *, reply_waiting: bool = False) -> Answer:
        """Execute one program message.

        Replies of one message are joined by semicolons (IEEE 488.2, 8.4.1). What goes wrong is
        in the error queue afterwards. A command error (-1xx) ends the message there, as the
        parser cannot trust what follows; after any other error the next unit is executed.

        Args:
            message: the message without its terminator.
            reply_waiting: whether an earlier reply is unread, which `*STB?` shows (bit 4).
        """
        self.status.reply_waiting = reply_waiting
        replies: list[str] = []
        takes_s = 0.0
        path = ""
        try:
            for unit in split_units(decode(message)):
                header, parameters = split_unit(unit)
                call: Call = self._tree.resolve(header, path)
                path = call.path
                takes_s += call.command.takes_s
                reply = self._run(call, parameters)
                if reply is not None:
                    replies.append(reply)
        except ScpiError as error:
            self.status.record(error.code)
        return Answer(None if self._mute or not replies else ";".join(replies), takes_s)

    def output(self) -> dict[str, bool]:
        """Whether each output is on, by channel name; empty without outputs."""
        return self._channels.output()

    def _run(self, call: Call, parameters: list[str]) -> str | None:
        try:
            reply = call.command.run(parameters, call.channel)
        except ScpiError as error:
            if error.is_command_error:
                raise
            self.status.record(error.code)
            return None
        return None if call.command.mute else reply

    def _add_commands(self, description: Description, kinds: dict[str, Kind]) -> None:
        scpi = description.scpi
        for dialogue in description.dialogues:
            action = accept_anything if dialogue.r is None else fixed_reply(dialogue.r)
            self._tree.add(dialogue.q, action)
        add_common_commands(self._tree, self._channels, self.status)
        for name, setting in scpi.settings.items():
            SettingCommands(name, kinds[name], self._channels).add_to(self._tree, setting.header)
        for header, words in scpi.selectors.items():
            SelectorCommands(words, self._channels).add_to(self._tree, header)
        measurements = Measurements(
            scpi.role, self._channels, description.circuits, scpi.number_format, time.monotonic()
        )
        for header, quantities in scpi.readings.items():
            self._tree.add(header, measurements.query(quantities))
        for header in scpi.accepts:
            self._tree.add(header, accept_anything)


def _default(name: str, kind: Kind, text: str) -> Value:
    try:
        return kind.parse(text)
    except ScpiError as error:
        raise ValueError(f"setting {name!r}: default {text!r} gives {error}") from None

"""From a description to the commands of an instrument."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.model.auto_on import measuring
from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import CommandTree
from sim_instruments.model.common_commands import accept_anything, add_common_commands, fixed_reply
from sim_instruments.model.description import Description, Scpi
from sim_instruments.model.readings import Measurements
from sim_instruments.model.scpi_errors import ScpiError
from sim_instruments.model.settings import SelectorCommands, SettingCommands
from sim_instruments.model.status import Status
from sim_instruments.model.values import Kind, Value


def default_values(scpi: Scpi) -> dict[str, Value]:
    """Give what each setting is after power-on.

    Raises:
        ValueError: a setting does not take its own default.
    """
    kinds = setting_kinds(scpi)
    return {name: _default(name, kinds[name], scpi.settings[name].default) for name in kinds}


def build_commands(
    description: Description,
    channels: Channels,
    status: Status,
    measurements: Measurements,
    reset: Callable[[], None],
) -> CommandTree:
    """Make every command that a description gives an instrument.

    Args:
        description: what it is.
        channels: what its settings act on.
        status: what its common commands act on.
        measurements: what answers its readings.
        reset: what `*RST` does.

    Raises:
        ValueError: a header is malformed or described twice.
    """
    scpi, kinds = description.scpi, setting_kinds(description.scpi)
    tree = CommandTree()
    for dialogue in description.dialogues:
        tree.add(dialogue.q, accept_anything if dialogue.r is None else fixed_reply(dialogue.r))
    add_common_commands(tree, status, reset)
    for name, setting in scpi.settings.items():
        if not setting.header:
            continue  # only phrases speak of it
        SettingCommands(name, kinds[name], channels).add_to(tree, setting.header)
    for header, words in scpi.selectors.items():
        SelectorCommands(words, channels).add_to(tree, header)
    for header, quantities in scpi.readings.items():
        tree.add(header, measuring(header, measurements.query(quantities), channels))
    for header in scpi.accepts:
        tree.add(header, measuring(header, accept_anything, channels))
    return tree


def setting_kinds(scpi: Scpi) -> dict[str, Kind]:
    """Give what each setting holds."""
    return {name: setting.kind(scpi.number_format) for name, setting in scpi.settings.items()}


def _default(name: str, kind: Kind, text: str) -> Value:
    try:
        return kind.parse(text)
    except ScpiError as error:
        raise ValueError(f"setting {name!r}: default {text!r} gives {error}") from None

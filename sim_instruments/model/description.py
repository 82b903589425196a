"""How an instrument is described in a bench file: the keys, their types and what they mean.

`bench.yaml` is the example. A device is ours when it has a `scpi` key; pyvisa-sim's keys `eom` and
`dialogues` keep their meaning, except that the `q` of a dialogue is a header in SCPI's notation.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sim_instruments.model.channels import OUTPUT
from sim_instruments.model.circuit import Circuit
from sim_instruments.model.output_stage import Role
from sim_instruments.model.phrases import Phrase
from sim_instruments.model.readings import Quantity
from sim_instruments.model.traits import Traits, refuse_unknown
from sim_instruments.model.values import Choice, Kind, Number, Switch


class Dialogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fixed reply `r` to the query `q`; without `r`, a command that is accepted."""

    q: str
    r: str | None = None


class Terminators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ends a message (`q`) and a reply (`r`) on one kind of interface."""

    q: str
    r: str


class SwitchSetting(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="switch"
):
    """A setting that is ON or OFF."""

    header: str = ""
    default: str = "OFF"

    def kind(self, _style: str) -> Kind:
        """Give what the setting holds."""
        return Switch()


class NumberSetting(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="number"
):
    """A setting that is a quantity, limits and default in `unit`."""

    min: float
    max: float
    default: str
    header: str = ""
    unit: str = ""

    def kind(self, style: str) -> Kind:
        """Give what the setting holds, written in the format `style`."""
        return Number(self.unit, self.min, self.max, float(self.default), style)


class ChoiceSetting(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="choice"
):
    """A setting that is one of `words`, each in SCPI's notation."""

    words: list[str]
    default: str
    header: str = ""

    def kind(self, _style: str) -> Kind:
        """Give what the setting holds."""
        return Choice(tuple(self.words))


class Scpi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commands of an instrument.

    Attributes:
        role: what it does to the circuits: a `source` forces a voltage or a current while its
            output is on, a `sink` takes its `current` from them, a `meter` does nothing, nor does
            an `emitter` (a laser, an oven), which has an output all the same.
        settings: by name, each without commands of its own where it has no header. `output`,
            `function` (VOLT or CURR), `voltage`, `current`, `voltage_limit` and `current_limit`
            act on the circuit, others are only remembered.
        readings: query header to the quantities it answers, in order.
        selectors: header of a command that selects a channel, to its words and their channels.
        accepts: headers of commands that are accepted with any parameters, without effect.
        number_format: Python's format specification of numbers in replies.
    """

    role: Role
    settings: dict[str, SwitchSetting | NumberSetting | ChoiceSetting] = {}
    readings: dict[str, list[Quantity]] = {}
    selectors: dict[str, dict[str, str]] = {}
    accepts: list[str] = []
    number_format: str = "+.6E"


def _one_open_channel() -> dict[str, Circuit]:
    return {"1": Circuit()}


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One device of a bench file.

    Attributes:
        scpi: its commands.
        model: what pytest-safetyq calls it, for a bench file that the server writes.
        eom: pyvisa-sim's terminators by interface, `GPIB INSTR` to query and response.
        dialogues: fixed replies.
        phrases: what it understands word for word, before it is looked for among its commands.
        circuits: channel name to what is wired to it, so also how many channels there are; one
            channel with nothing wired to it unless given.
        traits: what is unusual about it.
    """

    scpi: Scpi
    model: str = ""
    eom: dict[str, Terminators] = {}
    dialogues: list[Dialogue] = []
    phrases: list[Phrase] = []
    circuits: dict[str, Circuit] = msgspec.field(default_factory=_one_open_channel)
    traits: Traits = Traits()

    @property
    def identity(self) -> str:
        """What it answers to `*IDN?`, empty if it does not."""
        return next((d.r for d in self.dialogues if d.q == "*IDN?" and d.r), "")


def describe(device: dict[str, Any]) -> Description:
    """Check what the YAML of one device says.

    Args:
        device: the device's mapping, all scalars as strings.

    Raises:
        ValueError: in one line, what is wrong.
    """
    traits = device.get("traits")
    if isinstance(traits, dict):
        refuse_unknown(traits)
    try:
        description = msgspec.convert(device, Description, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    format(0.0, description.scpi.number_format)
    _check_role(description.scpi)
    _check_channels(description)
    return description


def _check_role(scpi: Scpi) -> None:
    settings = scpi.settings.keys()
    needed = {
        "source": {OUTPUT},
        "sink": {OUTPUT, "current"},
        "meter": set(),
        "emitter": {OUTPUT},
    }[scpi.role]
    if scpi.role == "source":
        if "function" in settings:
            needed |= {"voltage", "current"}
        elif settings.isdisjoint({"voltage", "current"}):
            needed |= {"voltage"}
    missing = sorted(needed - settings)
    if missing:
        raise ValueError(
            f"a{'n' * (scpi.role == 'emitter')} {scpi.role} needs the setting {missing[0]!r}"
        )


def _check_channels(description: Description) -> None:
    if not description.circuits:
        raise ValueError("an instrument needs at least one channel in 'circuits'")
    for header, words in description.scpi.selectors.items():
        if set(words.values()) != description.circuits.keys():
            raise ValueError(f"selector {header!r} must name each channel of 'circuits'")

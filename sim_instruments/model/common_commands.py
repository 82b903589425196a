"""The commands that every instrument has (IEEE 488.2, 10; SCPI-99 volume 2, 21.8)."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.model.channels import Channels
from sim_instruments.model.command_tree import Action, CommandTree
from sim_instruments.model.scpi_errors import DATA_OUT_OF_RANGE, ScpiError
from sim_instruments.model.settings import require_count
from sim_instruments.model.status import Status
from sim_instruments.model.values import parse_number


def add_common_commands(tree: CommandTree, channels: Channels, status: Status) -> None:
    """Add the mandatory common commands, except `*IDN?`, and the error queue.

    `*RST` leaves the error queue and the registers alone (IEEE 488.2, 10.32).
    """
    tree.add("*RST", _order(channels.reset))
    tree.add("*CLS", _order(status.clear))
    tree.add("*WAI", _order(_nothing))
    tree.add("*OPC", _order(status.operation_complete))
    tree.add("*OPC?", _answer(lambda: 1))
    tree.add("*TST?", _answer(lambda: 0))
    tree.add("*ESR?", _answer(status.take_events))
    tree.add("*STB?", _answer(status.status_byte))
    tree.add("*ESE?", _answer(lambda: status.event_enable))
    tree.add("*SRE?", _answer(lambda: status.service_enable))
    tree.add("*ESE", _mask(lambda mask: setattr(status, "event_enable", mask)))
    tree.add("*SRE", _mask(lambda mask: setattr(status, "service_enable", mask)))
    tree.add(":SYSTem:ERRor[:NEXT]?", _answer(status.next_error))


def fixed_reply(reply: str) -> Action:
    """Make the action of a query whose answer never changes."""
    return _answer(lambda: reply)


def accept_anything(_parameters: list[str], _number: int | None) -> None:
    """Accept a command, whatever its parameters, without effect."""


def _order(effect: Callable[[], None]) -> Action:
    def action(parameters: list[str], _number: int | None) -> None:
        require_count(parameters, 0)
        effect()

    return action


def _answer(value: Callable[[], int | str]) -> Action:
    def action(parameters: list[str], _number: int | None) -> str:
        require_count(parameters, 0)
        return str(value())

    return action


def _mask(store: Callable[[int], None]) -> Action:
    def action(parameters: list[str], _number: int | None) -> None:
        require_count(parameters, 1)
        mask = parse_number(parameters[0])
        if not 0 <= mask <= 255:
            raise ScpiError(DATA_OUT_OF_RANGE)
        store(round(mask))

    return action


def _nothing() -> None:
    """Wait for what is pending (`*WAI`): nothing ever is."""

"""The commands that every instrument has (IEEE 488.2, 10; SCPI-99 volume 2, 21.8)."""

from __future__ import annotations

from collections.abc import Callable

from sim_instruments.model.command_tree import Action, CommandTree
from sim_instruments.model.scpi_errors import DATA_OUT_OF_RANGE, ScpiError
from sim_instruments.model.settings import require_count
from sim_instruments.model.status import Status
from sim_instruments.model.values import parse_number


def add_common_commands(tree: CommandTree, status: Status, reset: Callable[[], None]) -> None:
    """Add the mandatory common commands, except `*IDN?`, and the error queue.

    Args:
        tree: what to add them to.
        status: what they set and query.
        reset: what `*RST` does. It leaves the error queue and the registers alone (IEEE 488.2,
            10.32).
    """
    tree.add("*RST", order(reset))
    tree.add("*CLS", order(status.clear))
    tree.add("*WAI", order(_nothing))
    tree.add("*OPC", order(status.operation_complete))
    tree.add("*OPC?", answer(lambda: 1))
    tree.add("*TST?", answer(lambda: 0))
    tree.add("*ESR?", answer(status.take_events))
    tree.add("*STB?", answer(status.status_byte))
    tree.add("*ESE?", answer(lambda: status.event_enable))
    tree.add("*SRE?", answer(lambda: status.service_enable))
    tree.add("*ESE", _mask(lambda mask: setattr(status, "event_enable", mask)))
    tree.add("*SRE", _mask(lambda mask: setattr(status, "service_enable", mask)))
    tree.add(":SYSTem:ERRor[:NEXT]?", answer(status.next_error))


def fixed_reply(reply: str) -> Action:
    """Make the action of a query whose answer never changes."""
    return answer(lambda: reply)


def accept_anything(_parameters: list[str], _number: int | None) -> None:
    """Accept a command, whatever its parameters, without effect."""


def order(effect: Callable[[], None]) -> Action:
    """Make the action of a command without parameters."""

    def action(parameters: list[str], _number: int | None) -> None:
        require_count(parameters, 0)
        effect()

    return action


def answer(value: Callable[[], int | str]) -> Action:
    """Make the action of a query without parameters."""

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

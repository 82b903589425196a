"""Which commands of an instrument set a quantity, and which of their parameters do."""

import re

from pytest_safetyq.bench.scpi import HeaderPattern, Unit

_NOTATION = re.compile(r"(?P<header>\S+)(?:\s+<(?P<parameter>[1-9])>)?")


class SetpointPattern:
    """A command that sets a quantity.

    ``[:SOURce]:VOLTage``: every parameter in front of a channel list is a value of the
    quantity (a list command has several). ``APPLy <2>``: only the second parameter is.

    Args:
        notation: A header in SCPI notation (see `scpi.HeaderPattern`), or one followed by
            the position of the parameter in angle brackets.

    Raises:
        ValueError: It is not in this notation.
    """

    def __init__(self, notation: str) -> None:
        found = _NOTATION.fullmatch(notation.strip())
        if found is None:
            raise ValueError(f'"{notation}" is neither a header nor a header and <1>')
        self._header = HeaderPattern(found["header"])
        self._parameter = int(found["parameter"]) if found["parameter"] else None

    def values(self, unit: Unit) -> tuple[str, ...]:
        """Return the parameters of ``unit`` that set the quantity; empty if it sets nothing.

        A command that sets the quantity without saying a value gives one empty text, so
        that it cannot pass for a command that sets nothing. A query never sets:
        ``VOLT? MAX`` asks for the maximum (SCPI-99 vol. 1, 7.2.1).
        """
        if unit.query or not self._header.matches(unit.header):
            return ()
        if self._parameter is not None:
            # A trailing parameter that was left out keeps its present value.
            return unit.parameters[self._parameter - 1 : self._parameter]
        numbers = tuple(text for text in unit.parameters if not text.startswith("(@"))
        return numbers or ("",)

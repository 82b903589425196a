"""The errors that a SCPI instrument reports, by number."""

from __future__ import annotations

NO_ERROR = 0
INVALID_CHARACTER = -101
DATA_TYPE_ERROR = -104
PARAMETER_NOT_ALLOWED = -108
MISSING_PARAMETER = -109
UNDEFINED_HEADER = -113
HEADER_SUFFIX_OUT_OF_RANGE = -114
NUMERIC_DATA_ERROR = -120
INVALID_SUFFIX = -131
SUFFIX_NOT_ALLOWED = -138
INVALID_STRING_DATA = -151
INVALID_EXPRESSION = -171
DATA_OUT_OF_RANGE = -222
ILLEGAL_PARAMETER_VALUE = -224
QUEUE_OVERFLOW = -350
INPUT_BUFFER_OVERRUN = -363
QUERY_INTERRUPTED = -410
QUERY_UNTERMINATED = -420

MESSAGES: dict[int, str] = {
    NO_ERROR: "No error",
    INVALID_CHARACTER: "Invalid character",
    DATA_TYPE_ERROR: "Data type error",
    PARAMETER_NOT_ALLOWED: "Parameter not allowed",
    MISSING_PARAMETER: "Missing parameter",
    UNDEFINED_HEADER: "Undefined header",
    HEADER_SUFFIX_OUT_OF_RANGE: "Header suffix out of range",
    NUMERIC_DATA_ERROR: "Numeric data error",
    INVALID_SUFFIX: "Invalid suffix",
    SUFFIX_NOT_ALLOWED: "Suffix not allowed",
    INVALID_STRING_DATA: "Invalid string data",
    INVALID_EXPRESSION: "Invalid expression",
    DATA_OUT_OF_RANGE: "Data out of range",
    ILLEGAL_PARAMETER_VALUE: "Illegal parameter value",
    QUEUE_OVERFLOW: "Queue overflow",
    INPUT_BUFFER_OVERRUN: "Input buffer overrun",
    QUERY_INTERRUPTED: "Query INTERRUPTED",
    QUERY_UNTERMINATED: "Query UNTERMINATED",
}
"""Error number to text (SCPI-99 volume 2, 21.8)."""


class ScpiError(Exception):
    """What goes into the error queue instead of being obeyed.

    Args:
        code: one of the numbers in `MESSAGES`.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f'{code},"{MESSAGES[code]}"')
        self.code = code

    @property
    def is_command_error(self) -> bool:
        """Whether the parser lost its footing (-1xx), and with it the rest of the message."""
        return -200 < self.code <= -100

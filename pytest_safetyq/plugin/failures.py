"""Failures that pytest shows as one line, without a traceback of the plugin's insides."""

import pytest

from pytest_safetyq.errors import SafeStateUnconfirmed


class UnconfirmedFailure(SafeStateUnconfirmed, pytest.fail.Exception):  # type: ignore[name-defined,misc]
    """`SafeStateUnconfirmed`, and for pytest a failure that needs no traceback."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, f"SafeStateUnconfirmed: {message}", pytrace=False)

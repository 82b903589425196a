"""Failures that pytest shows as one line, without a traceback of the plugin's insides."""

import re

import pytest

from pytest_safetyq.errors import SafeStateUnconfirmed


class UnconfirmedFailure(SafeStateUnconfirmed, pytest.fail.Exception):  # type: ignore[name-defined,misc]
    """`SafeStateUnconfirmed`, and for pytest a failure that needs no traceback."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, f"SafeStateUnconfirmed: {message}", pytrace=False)


def explain_scope_mismatch(error: BaseException) -> None:
    """Add to pytest's own words for a fixture of too wide a scope what our scope depends on."""
    message = getattr(error, "msg", None)
    if not isinstance(error, pytest.fail.Exception) or not isinstance(message, str):
        return
    if not message.startswith("ScopeMismatch") or "_safetyq_guard" not in message:
        return
    asked = re.search(r"with an? (\w+) scoped request", message)
    scope = asked[1] if asked else "module"
    error.msg = (
        f"{message}\nThe safe state is sent at the end of the scope that the ini value"
        f" safetyq_scope names, and so wide are the fixtures of safetyq: write"
        f" safetyq_scope = {scope} in the ini file, or give your fixture the scope function."
    )

"""What several tests of the simulation need."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 20.0


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail when it takes far too long."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)

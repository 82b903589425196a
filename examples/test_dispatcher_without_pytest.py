"""The example without pytest does what it says."""

import asyncio

from examples.dispatcher_without_pytest import main


def test_off_waits_for_one_poll_at_most() -> None:
    assert asyncio.run(main()) < 0.05

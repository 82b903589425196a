"""Fixtures for the tests of the supervisor."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio
from supervisor_helpers import running


@pytest_asyncio.fixture(autouse=True)
async def stop_what_runs() -> AsyncIterator[None]:
    """Leave no dispatcher running after a test that failed."""
    running.clear()
    yield
    for instrument in running:
        stopping = asyncio.create_task(instrument.dispatcher.stop())
        await asyncio.wait({stopping}, timeout=2.0)
        stopping.cancel()

"""Fixtures for the tests of the dispatcher."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from dispatcher_helpers import SHORT_DRAIN_S, Owner, on_callbacks, on_link


@pytest.fixture(params=[on_link, on_callbacks], ids=["link", "callbacks"])
def own(request: pytest.FixtureRequest) -> Owner:
    """Make a dispatcher for a scripted link: on the link itself, and on plain callbacks."""
    owner: Owner = request.param
    return owner


@pytest.fixture
def short_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two plain callables be waited for as long as the scripted links of such a test."""
    monkeypatch.setattr("pytest_safetyq.links.callbacks.DRAIN_S", SHORT_DRAIN_S)


@pytest.fixture
async def release() -> AsyncIterator[asyncio.Event]:
    """Give an event that lets `stubborn` return; set at the end, whatever the test came to."""
    event = asyncio.Event()
    yield event
    event.set()

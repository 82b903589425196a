"""Fixtures for the tests of the links."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from visa_helpers import Instrument, OpenLink, Session, link_to

from pytest_safetyq.links.visa import VisaLink


@pytest.fixture
def instrument(monkeypatch: pytest.MonkeyPatch) -> Iterator[Instrument]:
    """The instrument behind every session that is opened."""
    played = Instrument()
    session = type("PlayedSession", (Session,), {"instrument": played})
    monkeypatch.setattr("pytest_safetyq.links.visa.VisaSession", session)
    yield played
    played.release.set()


@pytest.fixture
async def open_link(instrument: Instrument) -> AsyncIterator[OpenLink]:
    """Open links to the instrument, and close them after the test."""
    opened: list[VisaLink] = []

    async def open_one(**settings: Any) -> VisaLink:
        link = await link_to(**settings).open(1.0)
        opened.append(link)
        return link

    yield open_one
    for link in opened:
        await link.close()

"""Fixtures for the tests of the dispatcher."""

import pytest
from dispatcher_helpers import Owner, on_callbacks, on_link


@pytest.fixture(params=[on_link, on_callbacks], ids=["link", "callbacks"])
def own(request: pytest.FixtureRequest) -> Owner:
    """Make a dispatcher for a scripted link: on the link itself, and on plain callbacks."""
    owner: Owner = request.param
    return owner

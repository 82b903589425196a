"""The links to one instrument by number, for the abort channel to find."""

from __future__ import annotations

from itertools import count

from sim_instruments.port import Port
from sim_instruments.wires.instrument_lock import InstrumentLock
from sim_instruments.wires.vxi11.codes import DeviceError, ErrorCode
from sim_instruments.wires.vxi11.link import Link


class Links:
    """The links to one instrument, from all its clients."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._links: dict[int, Link] = {}

    def add(self, port: Port, lock: InstrumentLock) -> Link:
        """Make a link with a number that no link had before."""
        link = Link(next(self._numbers), port, lock)
        self._links[link.number] = link
        return link

    def remove(self, link: Link) -> None:
        """Forget a link."""
        del self._links[link.number]

    def find(self, number: int) -> Link:
        """Give the link with this number.

        Raises:
            DeviceError: INVALID_LINK.
        """
        if number not in self._links:
            raise DeviceError(ErrorCode.INVALID_LINK)
        return self._links[number]

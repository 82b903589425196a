"""The instruments on a controller's bus, as one host reaches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sim_instruments.port import Port
from sim_instruments.wires.place import Place, Refused
from sim_instruments.wires.prologix.addresses import Address


class Bus:
    """Ports to the instruments, opened when first addressed.

    Args:
        places: the instruments by address.
        open_port: lets the host in to one; raises `Refused`.
    """

    def __init__(self, places: Mapping[Address, Place], open_port: Callable[[Place], Port]) -> None:
        self._places = places
        self._open_port = open_port
        self._ports: dict[Address, Port] = {}

    def port(self, address: Address) -> Port | None:
        """Give the port at an address, `None` if no instrument listens there.

        An instrument that has all the clients it takes does not listen either.
        """
        port = self._ports.get(address)
        if port is None and address in self._places:
            try:
                port = self._ports[address] = self._open_port(self._places[address])
            except Refused:
                return None
        return port

    def requests_service(self) -> bool:
        """Whether an instrument asserts SRQ, which bit 6 of its status byte says."""
        return any(port.status_byte() & 1 << 6 for port in self._all_ports())

    def close(self) -> None:
        """Let go of the instruments."""
        for port in self._ports.values():
            port.close()

    def _all_ports(self) -> Iterator[Port]:
        for address in self._places:
            port = self.port(address)
            if port is not None:
                yield port

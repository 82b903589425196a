"""The wires there are, by name."""

from __future__ import annotations

from sim_instruments.wires.listener import Wire
from sim_instruments.wires.raw_socket import SocketListener
from sim_instruments.wires.serial_line import SerialListener

WIRES: dict[str, Wire] = {
    "socket": Wire(SocketListener),
    "serial": Wire(SerialListener, has_port=False),
}

"""The wires there are, by name."""

from __future__ import annotations

from sim_instruments.wires.hislip.listener import HislipListener
from sim_instruments.wires.listener import Wire
from sim_instruments.wires.prologix.listener import PrologixListener
from sim_instruments.wires.raw_socket import SocketListener
from sim_instruments.wires.serial_line import SerialListener
from sim_instruments.wires.vxi11.listener import Vxi11Listener

WIRES: dict[str, Wire] = {
    "socket": Wire(SocketListener),
    "serial": Wire(SerialListener, has_port=False),
    "hislip": Wire(HislipListener),
    "vxi11": Wire(Vxi11Listener),
    "prologix": Wire(PrologixListener, is_shared=True),
}

"""Serial lines: a pseudo-terminal under a name that stays the same when it is unplugged."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sim_instruments.port import Port
from sim_instruments.wires.place import Place
from sim_instruments.wires.pty_transport import PtyTransport
from sim_instruments.wires.raw_socket import Conversation


class SerialLine(Conversation):
    """What the instrument hears on its serial port. It cannot tell who is at the other end."""

    is_client = False

    def drop(self) -> bool:
        """There is no connection to end."""
        return False

    def reset(self) -> bool:
        """There is no connection to end."""
        return False

    def _open_port(self) -> Port:
        return self._place.open_port(
            self._wire, "", self, interface=self._interface, keeps_unread=True, limited=False
        )


class SerialListener:
    """See `sim_instruments.wires.listener.Listener`."""

    interface = None

    def __init__(self) -> None:
        self.resource_names: dict[str, str] = {}
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._link = Path()
        self._place: Place | None = None
        self._pty: PtyTransport | None = None

    async def start(self, places: Sequence[Place], port: int) -> None:
        """Plug the cable in, and name it."""
        del port  # a device file takes its place
        if not hasattr(os, "openpty"):
            raise ValueError("serial: this system has no pseudo-terminals, take another wire")
        (self._place,) = places
        self._directory = tempfile.TemporaryDirectory(prefix="sim_instruments-")
        self._link = Path(self._directory.name) / re.sub(r"\W", "_", self._place.name)
        self.replug()
        self._place.cables.append(self)
        self.resource_names[self._place.name] = f"ASRL{self._link}::INSTR"

    async def stop(self) -> None:
        """Pull the cable out for good."""
        self.unplug()
        if self._directory is not None:
            self._directory.cleanup()

    def unplug(self) -> None:
        """Remove the device file; a client that has it open gets a hang-up."""
        if self._pty is not None:
            self._link.unlink(missing_ok=True)
            self._pty.abort()
            self._pty = None

    def replug(self) -> None:
        """Put a device file under the same name again."""
        if self._pty is None and self._place is not None:
            self._pty = PtyTransport(SerialLine(self._place, "serial", "ASRL INSTR"))
            self._link.symlink_to(self._pty.path)

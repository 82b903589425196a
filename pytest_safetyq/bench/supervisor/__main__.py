"""``python -m pytest_safetyq.bench.supervisor``: started by the client, never by hand.

It prints the path of its endpoint file as one line, and from then on speaks only on the
socket. It lives in a session of its own, so that what ends the test run doesn't end it.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.supervisor.server import Server
from pytest_safetyq.bench.supervisor.terminal import Terminal


def main() -> None:
    """Serve one run, then end."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    terminal = Terminal()
    endpoint, listener = endpoints.create()
    try:
        asyncio.run(_serve(endpoint, listener, terminal))
    finally:
        endpoints.remove(endpoint)
        terminal.close()


async def _serve(endpoint: Endpoint, listener: socket.socket, terminal: Terminal) -> None:
    server = Server(endpoint, terminal.say)
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    if endpoint.unix_path is not None:
        listening = await asyncio.start_unix_server(server.serve, sock=listener)
    else:
        listening = await asyncio.start_server(server.serve, sock=listener)
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in loops
        loop.add_signal_handler(signal.SIGTERM, lambda: _terminate(server))
    _announce(endpoint)
    async with listening:
        await server.run_until_finished()


def _announce(endpoint: Endpoint) -> None:
    """Print where to find the endpoint, and let go of the pipe."""
    print(f"{endpoints.ANNOUNCEMENT}{endpoint.file}", flush=True)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


_terminating: set[asyncio.Task[None]] = set()


def _terminate(server: Server) -> None:
    async def trip_and_finish() -> None:
        await server.alarm("the supervisor was told to end (SIGTERM)")
        server.finish()

    task = asyncio.create_task(trip_and_finish())
    _terminating.add(task)


if __name__ == "__main__":
    main()

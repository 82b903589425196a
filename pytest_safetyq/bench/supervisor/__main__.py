"""``python -m pytest_safetyq.bench.supervisor``: started by the client, never by hand.

It prints the path of its endpoint file as one line, and from then on speaks only on the
socket. It lives in a session of its own, so that what ends the test run doesn't end it.
"""

import asyncio
import os
import sys

from pytest_safetyq.bench.endpoint import ANNOUNCEMENT, Endpoint, Listening, listening
from pytest_safetyq.bench.platform import on_signal_to_end
from pytest_safetyq.bench.supervisor.server import Server
from pytest_safetyq.bench.supervisor.terminal import Terminal


def main() -> None:
    """Serve one run, then end."""
    terminal = Terminal()
    try:
        with listening() as found:
            asyncio.run(_serve(found, terminal))
    finally:
        terminal.close()


async def _serve(found: Listening, terminal: Terminal) -> None:
    endpoint = found.endpoint
    server = Server(endpoint, terminal.say)
    on_signal_to_end(server.told_to_end)
    found.socket.setblocking(False)
    start = asyncio.start_server if endpoint.unix_path is None else asyncio.start_unix_server
    async with await start(server.serve, sock=found.socket):
        _announce(endpoint)
        await server.run_until_finished()


def _announce(endpoint: Endpoint) -> None:
    """Print where to find the endpoint, and let go of the pipe."""
    print(f"{ANNOUNCEMENT}{endpoint.file}", flush=True)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


if __name__ == "__main__":
    main()

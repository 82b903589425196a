"""The life of the server: it starts, says where it is, and ends when told to or left alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence

from sim_instruments.server.assembling import assemble
from sim_instruments.server.control_socket import ControlSocket
from sim_instruments.server.options import Options, options_from
from sim_instruments.server.requests import Bench
from sim_instruments.server.served_bench import ServedBench
from sim_instruments.witness import Witness

_LOOKS_PER_IDLE_TIME = 10
_LONGEST_LOOK_S = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to end; return 0, or 1 with one line of what was wrong at the start."""
    options = options_from(arguments)
    try:
        asyncio.run(_serve(options))
    except (ValueError, OSError) as error:
        print(f"sim_instruments: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(options: Options) -> None:
    _leave_session()
    stop = asyncio.Event()
    _end_on_signals(stop)
    witness = Witness(options.witness)
    bench = ServedBench(assemble(options.files, witness, options.seed), options.wires)
    control = ControlSocket(Bench(bench.places, stop.set), witness)
    try:
        await bench.start()
        control_port = await control.start(options.control_port)
        if options.bench_file is not None:
            bench.write_bench(options.bench_file)
        announcement = {
            "pid": os.getpid(),
            "control": control_port,
            "witness": None if options.witness is None else str(options.witness.absolute()),
            "seed": options.seed,
            **bench.announcement(),
        }
        print(json.dumps(announcement), flush=True)
        await _wait(stop, options.idle_s, bench, control)
    finally:
        control.stop()
        await bench.stop()


def _leave_session() -> None:
    """Begin a session of one's own, so that what ends the caller's does not end this one.

    A process that a shell's job control started in a terminal leads its group, and can't; it
    stays a job of that shell, and Ctrl-C ends it.
    """
    if hasattr(os, "setsid"):
        with contextlib.suppress(PermissionError):
            os.setsid()


def _end_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        # One that is ignored, as under nohup, is to stay so.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            # Works on every platform, which `loop.add_signal_handler` does not.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))


async def _wait(
    stop: asyncio.Event, idle_s: float, bench: ServedBench, control: ControlSocket
) -> None:
    """Wait until told to stop, or until nobody was there for `idle_s`."""
    busy_s = time.monotonic()
    was_connected = True
    look_s = min(idle_s / _LOOKS_PER_IDLE_TIME, _LONGEST_LOOK_S) if idle_s else None
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(look_s):
                await stop.wait()
        now_s = time.monotonic()
        is_connected = control.has_clients or bench.has_clients
        if is_connected or was_connected:  # whoever has gone may have gone just now
            busy_s = now_s
        was_connected = is_connected
        if idle_s and now_s - max(busy_s, bench.used_s) >= idle_s:
            return

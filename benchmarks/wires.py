"""The served instruments: `*IDN?` over each wire, many instruments, and many clients at once.

The targets were found on an idle machine where a plain echo took `ECHO_US`. Where it takes longer
they are longer in proportion; where it takes less they stay, as most of a pair is PyVISA-py's own.
"""

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pyvisa
import yaml
from pyvisa.resources import MessageBasedResource

from benchmarks.figures import Figure, spread
from sim_instruments import BENCH_YAML
from sim_instruments.sim_bench import SimBench
from sim_instruments.wires.registry import WIRES

ROUNDS = 7
QUERIES = 300
INSTRUMENTS = 200
TARGET_START_S = 2.0
CLIENTS = 64
TRANSACTIONS = 100_000

ECHO_US = 103.0
PYVISA_US = {"socket": 126.0, "serial": 277.0, "hislip": 155.0, "vxi11": 404.0, "prologix": 140.0}
"""What PyVISA-py took for a pair where a plain echo took `ECHO_US`."""
ALLOWANCE = 1.3

ECHO = """
import asyncio

async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)

async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def run() -> list[Figure]:
    """Measure the wires, then the start of a big bench, then a crowd."""
    return [*round_trips(), start_of_many(), crowd()]


def round_trips() -> list[Figure]:
    """Return the round trip over each wire, and that of a plain echo."""
    wires = [wire for wire in WIRES if wire != "serial" or sys.platform != "win32"]
    samples_us: dict[str, list[float]] = {wire: [] for wire in ["echo", *wires]}
    with SimBench(wires=wires) as bench, opened(bench, wires) as sessions, echo() as ask_echo:
        for _ in range(ROUNDS):
            samples_us["echo"].append(pair_us(ask_echo))
            for wire, session in sessions.items():
                samples_us[wire].append(pair_us(lambda s=session: s.query("*IDN?")))  # type: ignore[misc]
    echo_us = median(samples_us.pop("echo"))
    scale = ALLOWANCE * max(1.0, echo_us / ECHO_US)
    return [
        Figure("a plain echo by asyncio, asked over a blocking socket", echo_us, "µs"),
        *(
            Figure(
                f"*IDN? by PyVISA-py, {wire}",
                median(each_us),
                "µs",
                round(scale * PYVISA_US[wire]),
                spread(each_us, "µs"),
            )
            for wire, each_us in samples_us.items()
        ),
    ]


@contextlib.contextmanager
def opened(bench: SimBench, wires: list[str]) -> Iterator[dict[str, MessageBasedResource]]:
    """Open the SMU on every wire."""
    manager = pyvisa.ResourceManager("@py")
    interfaces = [manager.open_resource(name) for name in bench.interfaces.values()]
    sessions: dict[str, MessageBasedResource] = {}
    try:
        for wire in wires:
            session = manager.open_resource(bench.resource_name("smu", wire))
            assert isinstance(session, MessageBasedResource)
            session.write_termination = "\n"
            if wire in ("socket", "serial"):
                # The others say where a reply ends, and PyVISA-py's Prologix refuses to be told.
                session.read_termination = "\n"
            sessions[wire] = session
        for each in [*interfaces, *sessions.values()]:
            switch_off_nagle(each)
        yield sessions
    finally:
        for each in [*sessions.values(), *interfaces]:
            each.close()


def switch_off_nagle(session: pyvisa.Resource) -> None:
    """Set `TCP_NODELAY` where PyVISA-py leaves it to the user."""
    interface = session.visalib.sessions[session.session].interface  # type: ignore[attr-defined]
    if isinstance(interface, socket.socket):
        interface.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@contextlib.contextmanager
def echo() -> Iterator[Callable[[], object]]:
    """Start an echo in a process of its own, and give what asks it."""
    command = [sys.executable, "-c", ECHO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        with socket.create_connection(("127.0.0.1", int(server.stdout.readline()))) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def ask() -> object:
                client.sendall(b"*IDN?\n")
                return client.recv(4096)

            yield ask
        server.kill()


def pair_us(ask: Callable[[], object]) -> float:
    """Return the median of the microseconds that one question and its answer take."""
    samples = []
    for _ in range(QUERIES):
        begun_s = time.perf_counter()
        ask()
        samples.append(time.perf_counter() - begun_s)
    return median(samples) * 1e6


def start_of_many() -> Figure:
    """Return the seconds that a bench of many different instruments takes to start."""
    data = yaml.load(BENCH_YAML.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    smu = yaml.safe_dump(data["devices"]["smu"], default_flow_style=True)
    lines = ['spec: "1.1"', "devices:"]
    lines += [f"  smu{number}: {smu.strip()}" for number in range(INSTRUMENTS)]
    lines += ["resources:"]
    lines += [
        f"  GPIB{number // 30}::{number % 30}::INSTR: {{device: smu{number}}}"
        for number in range(INSTRUMENTS)
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "many.yaml"
        path.write_text("\n".join(lines), encoding="utf-8")
        samples_s = []
        for _ in range(3):
            begun_s = time.perf_counter()
            with SimBench(path):
                samples_s.append(time.perf_counter() - begun_s)
    return Figure(
        f"start of {INSTRUMENTS} instruments, each its own device",
        median(samples_s),
        "s",
        TARGET_START_S,
        spread(samples_s, "s"),
    )


def crowd() -> Figure:
    """Return what many raw sockets get through at once, each answer checked."""
    with SimBench() as bench:
        port = int(bench.resource_name("supply").split("::")[2])
        begun_s = time.perf_counter()
        wrong = asyncio.run(_crowd(port))
        took_s = time.perf_counter() - begun_s
    if wrong:
        raise AssertionError(f"{wrong} answers were lost or swapped")
    return Figure(
        f"{TRANSACTIONS} transactions by {CLIENTS} clients at once, each",
        took_s / TRANSACTIONS * 1e6,
        "µs",
        None,
        "no answer lost or swapped; the clients share one process",
    )


async def _crowd(port: int) -> int:
    share = TRANSACTIONS // CLIENTS + 1
    return sum(await asyncio.gather(*(_converse(port, n, share) for n in range(CLIENTS))))


async def _converse(port: int, client: int, count: int) -> int:
    """Ask what nobody else asks; return how many answers were not those."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    wrong = 0
    for number in range(count):
        value = f"{client * 0.4 + number * 1e-4:.4f}"
        writer.write(f"VOLT {value};VOLT?\n".encode())
        wrong += float(await reader.readline()) != float(value)
    writer.close()
    return wrong

"""How a bench ends, and that the output is off by then: the instruments' own log says so."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench_rig import Rig, is_gone, until, write_bench, write_simulation
from projects import Witness, left_behind

from pytest_safetyq import LinkLost, Priority, SafetyError
from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.client.connection import Connection
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.dispatcher.loan import Transact

CLIENT = """
import os, signal, sys, time
from pathlib import Path
from pytest_safetyq.bench import Bench, Instrument
from pytest_safetyq.bench.selection import Wish, select

bench = Bench("the client")
smu = Instrument(bench, bench.open(select(Wish(bench=Path(sys.argv[1]))).specs["smu"]))
smu.write(":OUTP ON")
assert smu.query(":OUTP?") == "1"
"""


class Client:
    """A client in a process of its own, whose last deed is ``ending``."""

    def __init__(self, directory: Path) -> None:
        self.runtime_dir = directory / "run"
        self.runtime_dir.mkdir(mode=0o700)
        self.witness = Witness(directory / "witness.jsonl")
        self._bench = write_bench(
            directory / "bench.yaml", write_simulation(directory / "simulation.yaml")
        )

    def run(self, ending: str, **settings: object) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "SAFETYQ_RUNTIME_DIR": str(self.runtime_dir),
            "SIM_INSTRUMENTS_WITNESS": str(self.witness.path),
        }
        arguments = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [sys.executable, "-c", CLIENT + ending, str(self._bench)],
            env=environment,
            text=True,
            timeout=60,
            check=False,
            **arguments,
        )

    def end(self) -> None:
        """Leave no supervisor running, whatever the test has done."""
        for file in self.runtime_dir.glob("**/endpoint.json"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(endpoints.load(file).pid, signal.SIGKILL)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.end()


def test_closing_switches_off_and_leaves_nothing(own: Rig) -> None:
    own.smu.write(":OUTP ON")
    report = own.close()
    assert report.confirmed
    assert set(report.by_instrument) == {"smu", "supply", "dmm", "load"}
    assert own.witness.was_on
    assert own.witness.is_off_and_read_back
    assert is_gone(own.pid)
    assert not own.directory.exists()
    assert own.bench.lost is None


def test_a_handle_of_a_closed_bench_says_so(own: Rig) -> None:
    smu = own.smu
    own.close()
    with pytest.raises(LinkLost):
        smu.query(":OUTP?")
    with pytest.raises(LinkLost):
        smu.estop()
    with pytest.raises(LinkLost):
        own.bench.close()


def test_closing_with_a_backlog_leaves_the_output_off(own: Rig) -> None:
    """What waits when the bench is closed must not switch the output on behind its back."""
    with own.held():
        for _ in range(30):
            own.smu.submit(":OUTP ON", priority=Priority.CONTROL)
    with contextlib.suppress(LinkLost):
        assert own.close().confirmed
    until(lambda: is_gone(own.pid), "the supervisor ends")
    assert not own.is_on, own.sent()


def test_what_comes_after_the_goodbye_is_not_sent(own: Rig) -> None:
    """Another thread may go on while the bench is closed."""
    connection = own.bench.connection
    goodbye = m.Goodbye(id=connection.number(), submitted_s=0.0)
    connection.wait(connection.request(goodbye))
    with contextlib.suppress(SafetyError):
        own.smu.write(":OUTP ON")
    connection.close()
    until(lambda: is_gone(own.pid), "the supervisor ends")
    assert not own.is_on, own.sent()


def test_threads_that_go_on_while_the_bench_is_closed(own: Rig) -> None:
    smu = own.smu

    def go_on() -> None:
        with contextlib.suppress(SafetyError):
            while True:
                smu.write(":OUTP ON")

    threads = [threading.Thread(target=go_on, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: own.is_on, "the output is on")
    with contextlib.suppress(SafetyError):
        own.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    until(lambda: is_gone(own.pid), "the supervisor ends")
    assert not own.is_on, own.sent()[-6:]


@pytest.mark.parametrize(
    "ending",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os._exit(0)",
        "sys.exit(3)",
        "raise RuntimeError",
        "smu.submit(':OUTP ON', priority=1); os._exit(0)",
    ],
)
def test_a_client_that_dies_leaves_the_output_off(client: Client, ending: str) -> None:
    client.run(ending)
    client.witness.wait_until_off()
    assert client.witness.was_on
    assert left_behind(client.runtime_dir) == []


def test_the_death_of_a_client_is_told_on_its_terminal(client: Client) -> None:
    ended = client.run("os.kill(os.getpid(), signal.SIGKILL)")
    assert ended.stderr == ("safetyq: the client ended without a goodbye: smu: off CONFIRMED\n")


def test_a_client_without_a_terminal_leaves_nothing_running(client: Client) -> None:
    """Started with standard error closed, as some launchers of daemons do."""
    client.run(
        "os.kill(os.getpid(), signal.SIGKILL)",
        stderr=None,
        preexec_fn=lambda: os.close(2),
    )
    client.witness.wait_until_off()
    assert left_behind(client.runtime_dir) == []


def test_a_long_runtime_directory(client: Client) -> None:
    """Longer than a Unix socket's path may be: loopback TCP takes its place."""
    client.runtime_dir = client.runtime_dir / ("d" * 100)
    client.runtime_dir.mkdir(mode=0o700)
    ended = client.run(
        "import json\n"
        "(file,) = Path(os.environ['SAFETYQ_RUNTIME_DIR']).glob('run-*/endpoint.json')\n"
        "found = json.loads(file.read_text())\n"
        "print(found['unix_path'], found['port'] > 0, bench.close().confirmed)\n"
    )
    assert (ended.stdout, ended.stderr) == ("None True True\n", "")
    assert client.witness.is_off_and_read_back
    assert left_behind(client.runtime_dir) == []


def test_the_signals_of_the_terminal_do_not_reach_the_supervisor(own: Rig) -> None:
    """Ctrl-C and a hang-up go to the group of the tests; it has a session of its own."""
    assert os.getsid(own.pid) == own.pid
    assert os.getpgid(own.pid) == own.pid


def test_the_supervisor_is_told_to_end(own: Rig) -> None:
    own.smu.write(":OUTP ON")
    own.kill(signal.SIGTERM)
    own.witness.wait_until_off()
    until(lambda: own.bench.lost is not None, "the client knows")
    until(lambda: is_gone(own.pid) and not own.directory.exists(), "it ends and leaves nothing")
    with pytest.raises(LinkLost):
        own.smu.query(":OUTP?")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_waiting_calls_end_when_the_supervisor_does(own: Rig, number: int) -> None:
    ended: list[BaseException] = []
    beginning = threading.Barrier(4)

    def wait(call: Callable[[], object]) -> None:
        beginning.wait()
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            ended.append(error)

    async def job(txn: Transact) -> None:
        await txn(b":OUTP ON")

    calls: list[Callable[[], object]] = [
        lambda: own.smu.query(":OUTP?", priority=Priority.QUERY),
        lambda: asyncio.run(own.async_smu.query(":OUTP?", priority=Priority.QUERY)),
        lambda: asyncio.run(own.dispatcher.run_job(job, Priority.QUERY)),
    ]
    with contextlib.suppress(Exception), own.held():
        threads = [threading.Thread(target=wait, args=(call,), daemon=True) for call in calls]
        for thread in threads:
            thread.start()
        beginning.wait()
        submitted = own.smu.submit(":OUTP?", priority=Priority.QUERY)
        until(lambda: own.waiting(Priority.QUERY) == 4, "all of them wait")
        own.kill(number)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    assert len(ended) == 3
    # Told to end it trips first, and what waits fails by that; killed it says nothing.
    kinds = SafetyError if number == signal.SIGTERM else LinkLost
    assert all(isinstance(error, kinds) for error in ended), ended
    assert isinstance(submitted.exception(10), kinds)


def test_closing_after_the_death_of_the_supervisor(own: Rig) -> None:
    own.kill()
    with pytest.raises(LinkLost):
        own.close()
    assert not own.directory.exists()
    assert own.bench.lost is None


def test_what_a_killed_supervisor_left_is_found_and_removed(
    own: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAFETYQ_RUNTIME_DIR", str(own.runtime_dir))
    assert [endpoint.pid for endpoint in endpoints.discover()] == [own.pid]
    own.kill()
    until(lambda: own.bench.lost is not None, "it is gone")
    own.bench._process.wait(10)
    assert own.directory.exists()
    assert list(endpoints.discover()) == []
    assert not own.directory.exists()


def test_a_fork_can_not_use_the_bench_nor_end_it(own: Rig) -> None:
    own.smu.write(":OUTP ON")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            own.smu.query(":OUTP?")
        except LinkLost as error:
            status = 0 if "fork" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert own.smu.query(":OUTP?") == "1"
    assert not own.smu.latched


def test_a_guest_may_come_stop_everything_and_go(own: Rig) -> None:
    own.smu.write(":OUTP ON")
    guest = Connection(own.endpoint, who="a guest", guest=True)
    guest.close()
    assert own.smu.query(":OUTP?") == "1"
    guest = Connection(own.endpoint, who="a guest", guest=True)
    request = m.EStop(id=guest.number(), reason="by a guest", submitted_s=0.0)
    guest.wait(guest.request(request))
    guest.close()
    assert own.smu.latched
    assert not own.is_on
    with pytest.raises(SafetyError, match="by a guest"):
        own.smu.write(":OUTP ON")
    own.safety.rearm("go on")
    assert own.smu.query(":OUTP?") == "0"


def test_the_estop_of_a_guest_that_is_gone_is_carried_out(own: Rig) -> None:
    """It has sent the E-stop and died: whoever has stopped waiting, it is sent all the same."""
    own.smu.write(":OUTP ON")
    guest = Connection(own.endpoint, who="a guest", guest=True)
    own.kill(signal.SIGSTOP)
    try:
        request = m.EStop(id=guest.number(), reason="by a guest", submitted_s=0.0)
        guest.send(request)
        guest.close()
    finally:
        own.kill(signal.SIGCONT)
    until(lambda: not own.is_on, "the output goes off")
    assert own.smu.latched


def test_a_second_client_that_dies_trips_the_bench(own: Rig) -> None:
    own.smu.write(":OUTP ON")
    second = Connection(own.endpoint, who="a second client")
    second.close()
    until(lambda: own.smu.latched and not own.is_on, "it trips")
    assert own.safety.estop().confirmed
    own.safety.rearm("go on")
    assert own.smu.query(":OUTP?") == "0"

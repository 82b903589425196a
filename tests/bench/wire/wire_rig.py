"""A supervisor whose terminal is a file, and peers that speak to it byte by byte."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from projects import Witness

import sim_instruments
from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.endpoint import Endpoint
from pytest_safetyq.bench.wire import messages as m
from pytest_safetyq.bench.wire.framing import RECEIVE_BYTES, encode, parser_for_client

PATIENCE_S = 10.0


class Peer:
    """A connection that says what it likes."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.socket = endpoint.connect(PATIENCE_S)
        self.socket.settimeout(PATIENCE_S)
        self._number = 0
        self._parser = parser_for_client()

    def hello(self, *, guest: bool = False, **changes: object) -> None:
        fields = {"token": self._endpoint.token, "protocol": m.PROTOCOL, "who": "the peer"}
        self.say(m.Hello(id=0, guest=guest, **{**fields, **changes}))  # type: ignore[arg-type]

    def say(self, message: m.Message) -> None:
        self.socket.sendall(encode(message))

    def number(self) -> int:
        self._number += 1
        return self._number

    def hear(self) -> m.ToClient | None:
        """Return the next message; None: the connection has ended."""
        while (message := self._parser.next_message()) is None:
            try:
                chunk = self.socket.recv(RECEIVE_BYTES)
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._parser.feed(chunk)
        return message

    def answer(self, request: m.Request) -> m.ToClient | None:
        """Return what answers ``request``, past what else comes."""
        self.say(request)
        while (message := self.hear()) is not None:
            if isinstance(message, m.Done | m.Failed) and message.id == request.id:
                return message
        return None

    def close(self) -> None:
        self.socket.close()


class Supervisor:
    """A supervisor process."""

    def __init__(
        self, directory: Path, stderr: IO[str] | int | None = None, patch: str = ""
    ) -> None:
        """Start it; ``patch`` is run in it first."""
        self.runtime_dir = directory / "run"
        self.runtime_dir.mkdir(mode=0o700)
        self.witness = Witness(directory / "witness.jsonl")
        self.simulation = directory / "simulation.yaml"
        self.simulation.write_bytes(sim_instruments.BENCH_YAML.read_bytes())
        (directory / "sitecustomize.py").write_text(patch, encoding="utf-8")
        self._terminal = directory / "terminal.txt"
        self._peers: list[Peer] = []
        with self._terminal.open("w") as terminal:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pytest_safetyq.bench.supervisor"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=terminal if stderr is None else stderr,
                text=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(
                        [str(directory), str(Path(endpoints.__file__).parents[2])]
                    ),
                    "SAFETYQ_RUNTIME_DIR": str(self.runtime_dir),
                    sim_instruments.WITNESS_VARIABLE: str(self.witness.path),
                },
            )
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            self.endpoint = endpoints.load(
                Path(pipe.readline().removeprefix(endpoints.ANNOUNCEMENT).strip())
            )

    @property
    def said(self) -> list[str]:
        """The lines on its terminal."""
        return self._terminal.read_text().splitlines()

    def peer(self) -> Peer:
        self._peers.append(Peer(self.endpoint))
        return self._peers[-1]

    def client(self, **settings: Any) -> Peer:
        """Return a peer that is let in, with the SMU open, with ``settings``, and on."""
        peer = self.peer()
        peer.hello()
        assert isinstance(peer.hear(), m.Done)
        spec = m.InstrumentSpec(
            name="smu",
            resource="GPIB0::5::INSTR",
            library=f"{self.simulation}@sim",
            **settings,
        )
        assert isinstance(peer.answer(m.Open(id=peer.number(), spec=spec)), m.Done)
        assert isinstance(peer.answer(submit(peer, b":OUTP ON")), m.Done)
        return peer

    def until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"it never happened: {what}; {self.said}"
            time.sleep(0.003)

    def end(self) -> None:
        for peer in self._peers:
            peer.close()
        self.process.kill()
        self.process.wait()


def submit(peer: Peer, payload: bytes) -> m.Submit:
    return m.Submit(
        id=peer.number(),
        instrument="smu",
        cmd_id="c",
        payload=payload,
        raw=False,
        priority=1,  # type: ignore[arg-type]
        timeout_s=None,
        expect_reply=None,
        submitted_s=time.monotonic(),
    )

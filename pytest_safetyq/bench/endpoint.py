"""Where a supervisor listens, and how its own user finds it.

Each run has a directory of its own, of mode 0700 below a directory of mode 0700: on Unix it
holds the socket, and everywhere a file with the address and a secret. Only who can read that
file can speak to the supervisor. A lock that the supervisor holds says that it is alive: the
system drops it with the process, and a number of a process may be another's by now.
"""

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import msgspec

from pytest_safetyq.bench.platform import (
    HAS_UNIX_SOCKETS,
    MAX_UNIX_PATH_BYTES,
    kept_from_cleaning,
    user_directory,
)

ANNOUNCEMENT = "safetyq-endpoint "
"""What a supervisor writes in front of the path of its endpoint file when it is ready."""

_FILE = "endpoint.json"
_ALIVE = "alive.lock"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a supervisor.

    Attributes:
        directory: Its run directory.
        token: The secret.
        pid: Its process.
        unix_path: Path of its socket; None: it listens on loopback TCP.
        port: The TCP port; 0 with a Unix socket.
    """

    directory: str
    token: str
    pid: int
    unix_path: str | None
    port: int

    @property
    def file(self) -> Path:
        """The file that says all this."""
        return Path(self.directory) / _FILE

    def connect(self, timeout_s: float) -> socket.socket:
        """Return a connected socket.

        Raises:
            OSError: Nobody listens.
        """
        if self.unix_path is not None:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            address: str | tuple[str, int] = self.unix_path
        else:
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            address = ("127.0.0.1", self.port)
        try:
            connection.settimeout(timeout_s)
            connection.connect(address)
            connection.settimeout(None)
        except BaseException:
            connection.close()
            raise
        return connection


@dataclass(frozen=True, slots=True)
class Listening:
    """A run directory, published, and the socket to it.

    Attributes:
        endpoint: The address.
        socket: The socket, which listens.
    """

    endpoint: Endpoint
    socket: socket.socket


@contextlib.contextmanager
def listening() -> Iterator[Listening]:
    """Make a run directory, listen, and publish it; in the end take it away.

    Raises:
        RuntimeDirectoryError: There is no place for it.
    """
    parent = user_directory()
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    try:
        alive = filelock.FileLock(directory / _ALIVE).acquire(timeout=0)
        with kept_from_cleaning(parent), alive, _listen(directory / "socket") as listener:
            unix_path, port = _address_of(listener)
            endpoint = Endpoint(
                directory=str(directory),
                token=secrets.token_hex(32),
                pid=os.getpid(),
                unix_path=unix_path,
                port=port,
            )
            _publish(endpoint)
            yield Listening(endpoint, listener)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _listen(path: Path) -> socket.socket:
    """Return a socket that listens at ``path``, or on loopback TCP where that can't be."""
    if HAS_UNIX_SOCKETS and len(os.fsencode(path)) <= MAX_UNIX_PATH_BYTES:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
    else:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def _address_of(listener: socket.socket) -> tuple[str | None, int]:
    """Return the path of a socket or None, and its port or 0."""
    name = listener.getsockname()
    return (name, 0) if isinstance(name, str) else (None, name[1])


def _publish(endpoint: Endpoint) -> None:
    """Write the file under another name first: whoever finds it finds it complete."""
    draft = endpoint.file.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(endpoint))
    draft.replace(endpoint.file)


def remove(endpoint: Endpoint) -> None:
    """Take the run directory away."""
    shutil.rmtree(endpoint.directory, ignore_errors=True)


def load(file: Path) -> Endpoint:
    """Return the endpoint that ``file`` describes.

    Raises:
        msgspec.ValidationError: It is none, or speaks of another directory than its own.
    """
    endpoint = msgspec.json.decode(file.read_bytes(), type=Endpoint)
    if Path(endpoint.directory) != file.parent:
        raise msgspec.ValidationError(f"{file} speaks of {endpoint.directory}")
    return endpoint


def discover() -> Iterator[Endpoint]:
    """Yield this user's running supervisors; what a killed one left behind is removed."""
    for file in sorted(user_directory().glob(f"run-*/{_FILE}")):
        with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
            endpoint = load(file)
            if _is_held(file.with_name(_ALIVE)):
                yield endpoint
            else:
                remove(endpoint)


def _is_held(lock: Path) -> bool:
    try:
        filelock.FileLock(lock).acquire(timeout=0).lock.release()
    except filelock.Timeout:
        return True
    return False

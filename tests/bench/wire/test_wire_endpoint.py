"""Where a supervisor listens: private to its user, complete, and cleared away."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from pytest_safetyq import SafetyError
from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench import platform
from pytest_safetyq.bench.endpoint import listening
from pytest_safetyq.bench.platform import MAX_UNIX_PATH_BYTES, user_directory


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "safetyq"
    monkeypatch.setenv(platform.DIRECTORY_VARIABLE, str(directory))
    return directory


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_is_private_to_the_user(runtime: Path) -> None:
    old = os.umask(0)
    with listening() as found:
        os.umask(old)
        endpoint = found.endpoint
        directory = Path(endpoint.directory)
        assert directory.parent == runtime
        assert (_mode(directory.parent), _mode(directory)) == (0o700, 0o700)
        assert _mode(endpoint.file) == 0o600
        assert endpoint.pid == os.getpid()
        assert len(endpoint.token) == 64
        assert endpoints.load(endpoint.file) == endpoint
        left = {"alive.lock", "endpoint.json", "socket"}
        assert {path.name for path in directory.iterdir()} == left
    assert not directory.exists()
    endpoints.remove(endpoint)


def test_each_has_a_secret_and_a_directory_of_its_own(runtime: Path) -> None:
    del runtime
    with listening() as first, listening() as second:
        one, other = first.endpoint, second.endpoint
        assert one.token != other.token
        assert one.directory != other.directory
        assert {found.directory for found in endpoints.discover()} == {
            one.directory,
            other.directory,
        }


WHERE = "from pytest_safetyq.bench import platform; print(platform._directory_of_user())"


@pytest.mark.parametrize(
    "changes",
    [
        {"TMPDIR": "/var/tmp", "TEMP": "/var/tmp"},
        {"XDG_RUNTIME_DIR": "/run/user/4321"},
        {"HOME": "/nowhere", "USER": "somebody", "LOGNAME": "somebody"},
        {},
    ],
    ids=lambda changes: next(iter(changes), "nothing at all"),
)
def test_every_process_of_a_user_agrees_on_the_directory(changes: dict[str, str]) -> None:
    """A run from cron and ``safetyq estop`` from a desktop have other environments."""
    kept = {"PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", WHERE],
        env={**kept, **changes},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert found == str(platform._directory_of_user())
    assert str(os.getuid()) in found
    assert len(found) + len("/run-12345678/socket") < MAX_UNIX_PATH_BYTES


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers that run under a number that no account has."""

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    assert platform._directory_of_user() == Path("/tmp/safetyq-4321")


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777, 0o770])
def test_a_directory_that_is_open_to_others_is_refused(runtime: Path, mode: int) -> None:
    runtime.mkdir()
    runtime.chmod(mode)
    with pytest.raises(PermissionError, match=f"{runtime}.*chmod 700"):
        user_directory()
    with pytest.raises(PermissionError):
        listening().__enter__()


def test_a_directory_of_another_user_is_refused(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_directory() == runtime
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.raises(PermissionError, match="another user"):
        user_directory()


@pytest.mark.parametrize("target", ["elsewhere", "missing"])
def test_a_link_to_elsewhere_is_refused(runtime: Path, target: str) -> None:
    (runtime.parent / "elsewhere").mkdir(mode=0o700)
    runtime.symlink_to(runtime.parent / target)
    with pytest.raises(SafetyError, match=f"{runtime} is a symbolic link; remove it"):
        user_directory()
    assert not (runtime.parent / "missing").exists()


def test_a_file_in_its_place_is_refused(runtime: Path) -> None:
    runtime.write_text("")
    with pytest.raises(SafetyError, match=f"{runtime} is no directory; remove it"):
        user_directory()


def test_a_directory_that_can_not_be_made_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(platform.DIRECTORY_VARIABLE, str(tmp_path / "not" / "there"))
    with pytest.raises(SafetyError, match=r"No such file.*set SAFETYQ_RUNTIME_DIR") as caught:
        user_directory()
    assert len(str(caught.value).splitlines()) == 1


def test_a_path_that_is_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(platform.DIRECTORY_VARIABLE, str(tmp_path / ("d" * MAX_UNIX_PATH_BYTES)))
    with listening() as found:
        assert found.endpoint.unix_path is None
        assert found.endpoint.port > 0
        found.endpoint.connect(1.0).close()


def test_it_is_kept_from_being_cleaned_away_as_old(runtime: Path) -> None:
    """As tmpfiles.d(5) has it: what somebody has a lock on isn't old."""
    fcntl = pytest.importorskip("fcntl")
    with listening():
        descriptor = os.open(runtime, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)


def _leave(runtime: Path, name: str) -> Path:
    """Leave what a supervisor leaves that was killed, its number another process's by now."""
    directory = runtime / name
    directory.mkdir(mode=0o700)
    (directory / "alive.lock").touch()
    endpoints._publish(
        endpoints.Endpoint(
            directory=str(directory), token="t", pid=os.getpid(), unix_path=None, port=1
        )
    )
    return directory


@pytest.fixture
def alive(runtime: Path) -> Iterator[Path]:
    user_directory()
    directory = _leave(runtime, "run-alive")
    with filelock.FileLock(directory / "alive.lock").acquire(timeout=0):
        yield directory


def test_what_is_found(runtime: Path, alive: Path) -> None:
    dead = _leave(runtime, "run-dead")
    damaged = runtime / "run-damaged"
    damaged.mkdir()
    (damaged / "endpoint.json").write_text('{"directory": ', encoding="utf-8")
    unfinished = runtime / "run-unfinished"
    unfinished.mkdir()
    assert [found.directory for found in endpoints.discover()] == [str(alive)]
    assert not dead.exists()
    assert unfinished.exists()


def test_only_its_own_directory_is_removed(runtime: Path, tmp_path: Path) -> None:
    """A file that names another directory must not have that one removed."""
    user_directory()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("years of work", encoding="utf-8")
    directory = _leave(runtime, "run-forged")
    text = (directory / "endpoint.json").read_text(encoding="utf-8")
    (directory / "endpoint.json").write_text(
        text.replace(str(directory), str(precious)), encoding="utf-8"
    )
    list(endpoints.discover())
    assert (precious / "data").exists()

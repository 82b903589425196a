"""Where a supervisor listens: private to its user, complete, and cleared away."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.platform import MAX_UNIX_PATH_BYTES, is_alive, user_directory


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_is_private_to_the_user(runtime: Path) -> None:
    old = os.umask(0)
    try:
        endpoint, listener = endpoints.create()
    finally:
        os.umask(old)
    with listener:
        directory = Path(endpoint.directory)
        assert directory.parent == runtime / "safetyq"
        assert (_mode(directory.parent), _mode(directory)) == (0o700, 0o700)
        assert _mode(endpoint.file) == 0o600
        assert endpoint.pid == os.getpid()
        assert len(endpoint.token) == 64
        assert endpoints.load(endpoint.file) == endpoint
        assert sorted(p.name for p in directory.iterdir()) == ["endpoint.json", "socket"]
    endpoints.remove(endpoint)
    assert not directory.exists()
    endpoints.remove(endpoint)


def test_each_has_a_secret_and_a_directory_of_its_own(runtime: Path) -> None:
    one, listening = endpoints.create()
    other, listening_too = endpoints.create()
    with listening, listening_too:
        assert one.token != other.token
        assert one.directory != other.directory
        assert {found.directory for found in endpoints.discover()} == {
            one.directory,
            other.directory,
        }


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777, 0o770])
def test_a_directory_that_is_open_to_others_is_refused(runtime: Path, mode: int) -> None:
    directory = runtime / "safetyq"
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(PermissionError, match=f"{directory}.*chmod 700"):
        user_directory()
    with pytest.raises(PermissionError):
        endpoints.create()


def test_a_directory_of_another_user_is_refused(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_directory() == runtime / "safetyq"
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.raises(PermissionError, match="another user"):
        user_directory()


def test_a_link_to_elsewhere_is_refused(runtime: Path) -> None:
    (runtime / "elsewhere").mkdir(mode=0o700)
    (runtime / "safetyq").symlink_to(runtime / "elsewhere")
    with pytest.raises(PermissionError):
        user_directory()


@pytest.mark.parametrize("value", ["", "/nowhere/at/all"])
def test_without_a_runtime_directory_it_is_below_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = user_directory()
    assert directory.parent == tmp_path
    assert _mode(directory) == 0o700


def test_a_user_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers that run under a number that no account has."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert user_directory().parent == tmp_path


def test_a_path_that_is_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / ("d" * MAX_UNIX_PATH_BYTES)
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    endpoint, listener = endpoints.create()
    with listener:
        assert endpoint.unix_path is None
        assert endpoint.port > 0
        endpoint.connect(1.0).close()


def _leave(runtime: Path, name: str, pid: int) -> Path:
    directory = runtime / "safetyq" / name
    directory.mkdir(mode=0o700)
    endpoints._publish(
        endpoints.Endpoint(directory=str(directory), token="t", pid=pid, unix_path=None, port=1)
    )
    return directory


def test_what_is_found(runtime: Path) -> None:
    user_directory()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = _leave(runtime, "run-dead", ended.pid)
    alive = _leave(runtime, "run-alive", os.getpid())
    damaged = runtime / "safetyq" / "run-damaged"
    damaged.mkdir()
    (damaged / "endpoint.json").write_text('{"directory": ', encoding="utf-8")
    unfinished = runtime / "safetyq" / "run-unfinished"
    unfinished.mkdir()
    assert [found.directory for found in endpoints.discover()] == [str(alive)]
    assert not dead.exists()
    assert unfinished.exists()


def test_only_its_own_directory_is_removed(runtime: Path, tmp_path: Path) -> None:
    """A file that names another directory must not have that one removed."""
    user_directory()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("years of work", encoding="utf-8")
    directory = _leave(runtime, "run-forged", ended.pid)
    text = (directory / "endpoint.json").read_text(encoding="utf-8")
    (directory / "endpoint.json").write_text(
        text.replace(str(directory), str(precious)), encoding="utf-8"
    )
    list(endpoints.discover())
    assert (precious / "data").exists()


def test_who_is_alive() -> None:
    assert is_alive(os.getpid())
    assert is_alive(1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not is_alive(ended.pid)

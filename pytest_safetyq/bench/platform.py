"""Everything in which operating systems differ."""

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_safetyq.errors import SafetyError

WINDOWS = os.name == "nt"
HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX") and not WINDOWS
HAS_NATIVE_SERIAL = not WINDOWS
"""An event loop of Windows can't wait for a serial port; pyserial-asyncio polls there."""

MAX_UNIX_PATH_BYTES = 100
"""``sun_path`` takes 104 bytes on macOS and 108 on Linux, the final NUL included."""

DIRECTORY_VARIABLE = "SAFETYQ_RUNTIME_DIR"
"""Puts the directory of the supervisors elsewhere; whoever has another value isn't seen there."""

_CREATE_NEW_PROCESS_GROUP = 0x00000200
_CS_DARWIN_USER_CACHE_DIR = 65538
_FOLDERID_LOCAL_APP_DATA = bytes.fromhex("8527b3f1ba6fcf4f9d557b8e7f157091")


class RuntimeDirectoryError(SafetyError, PermissionError):
    """The directory of the supervisors can't be used, or could be somebody else's."""


def user_directory() -> Path:
    """Return this user's directory for running supervisors and locks, private to the user.

    All processes of a user must agree on it, or two of them could drive one instrument: so it
    depends on the user alone, not on ``TMPDIR``, ``XDG_RUNTIME_DIR`` or ``HOME``, which differ
    between a desktop, ssh, cron and sudo. Only ``SAFETYQ_RUNTIME_DIR`` puts it elsewhere.

    Raises:
        RuntimeDirectoryError: It can't be made, belongs to somebody else, is a symbolic
            link, or others may enter it.
    """
    named = os.environ.get(DIRECTORY_VARIABLE)
    directory = Path(named).absolute() if named else _directory_of_user()
    try:
        # Not exist_ok: that would follow a symbolic link.
        directory.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise RuntimeDirectoryError(
            f"{directory}, where running supervisors are found, can't be made"
            f" ({error.strerror}); set {DIRECTORY_VARIABLE} to a directory of your own, for all"
            " processes alike"
        ) from error
    _require_private(directory)
    return directory


def _directory_of_user() -> Path:
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - of use on Windows only

        found = ctypes.c_wchar_p()
        folder, path = ctypes.c_char_p(_FOLDERID_LOCAL_APP_DATA), ctypes.byref(found)
        ctypes.windll.shell32.SHGetKnownFolderPath(folder, 0, None, path)
        local = found.value or ""
        ctypes.windll.ole32.CoTaskMemFree(found)
        return Path(local) / "safetyq"
    if sys.platform == "darwin":
        return Path(os.confstr(_CS_DARWIN_USER_CACHE_DIR) or "/tmp") / "safetyq"
    # Not /run/user: it is there for logged-in users only, and goes with their last session.
    return Path(f"/tmp/safetyq-{os.getuid()}")


def _require_private(directory: Path) -> None:
    """Refuse a directory that another user may have put there to listen in."""
    status = directory.lstat()
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISDIR(status.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no directory"
        raise RuntimeDirectoryError(f"{directory} is {kind}; remove it")
    if WINDOWS:
        return  # below the user's own profile, which others can't enter
    if status.st_uid != os.getuid():
        raise RuntimeDirectoryError(f"{directory} belongs to another user; have it removed")
    if status.st_mode & 0o077:
        raise RuntimeDirectoryError(f"{directory} is open to other users; chmod 700 it")


@contextlib.contextmanager
def kept_from_cleaning(directory: Path) -> Iterator[None]:
    """Keep ``directory`` from being cleaned away as old while a run lasts for days.

    systemd-tmpfiles skips a directory on which somebody has a lock (tmpfiles.d(5), "Age").
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - not there on Windows

    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def own_session() -> dict[str, Any]:
    """Return arguments for ``Popen`` that keep Ctrl-C and hang-ups away from the child."""
    if WINDOWS:
        return {"creationflags": _CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def resume(pid: int) -> None:
    """Let a process go on that somebody has stopped; nothing if it wasn't, or is gone."""
    if sys.platform != "win32":  # where processes aren't stopped by signals
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def on_signal_to_end(told: Callable[[str], None]) -> None:
    """Call ``told`` in the running loop with the name of a signal that asks to end.

    Args:
        told: Is given ``SIGTERM``, ``SIGINT``, ``SIGHUP`` or, on Windows, ``SIGBREAK``.
    """
    loop = asyncio.get_running_loop()

    def tell(number: int, _frame: object) -> None:
        # A loop that is closed has done what it was told; its own handlers would be gone by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(told, signal.Signals(number).name)

    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), tell)

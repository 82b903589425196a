"""Everything in which operating systems differ."""

import getpass
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from pytest_safetyq.errors import SafetyError

WINDOWS = os.name == "nt"
HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX") and not WINDOWS
_CREATE_NEW_PROCESS_GROUP = 0x00000200
MAX_UNIX_PATH_BYTES = 100
"""``sun_path`` takes 104 bytes on macOS and 108 on Linux, the final NUL included."""


class UnsafeDirectoryError(SafetyError, PermissionError):
    """The directory of the supervisors could be somebody else's."""


def user_directory() -> Path:
    """Return this user's directory for running supervisors, private to the user.

    Raises:
        UnsafeDirectoryError: It belongs to somebody else, or others may enter it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        directory = Path(runtime) / "safetyq"
    else:
        user = getpass.getuser() if WINDOWS else os.getuid()
        directory = Path(tempfile.gettempdir()) / f"safetyq-{user}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not WINDOWS:
        _require_private(directory)
    return directory


def _require_private(directory: Path) -> None:
    status = directory.lstat()
    if status.st_uid != os.getuid():
        raise UnsafeDirectoryError(f"{directory} belongs to another user; remove it")
    if status.st_mode & 0o077:
        raise UnsafeDirectoryError(f"{directory} is open to other users; chmod 700 it")


def own_session() -> dict[str, Any]:
    """Return arguments for ``Popen`` that keep Ctrl-C and hang-ups away from the child."""
    if WINDOWS:
        return {"creationflags": _CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists."""
    if WINDOWS:
        listing = subprocess.run(
            ["tasklist", "/FI", f"PID eq {pid}", "/NH"], capture_output=True, text=True, check=False
        )
        return str(pid) in listing.stdout
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

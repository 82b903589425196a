"""One owner per piece of hardware, also between processes."""

import contextlib
import hashlib
from pathlib import Path

import filelock

from pytest_safetyq.bench.platform import user_directory
from pytest_safetyq.errors import SafetyError


class ResourceLock:
    """An advisory lock on one resource; the system drops it when the holder dies.

    VISA's own locks don't exist on serial ports, HiSLIP, Prologix and simulations, and can
    be stolen where they do.

    Args:
        resource: The VISA resource name, canonical.
    """

    def __init__(self, resource: str) -> None:
        self._resource = resource
        digest = hashlib.sha256(resource.upper().encode()).hexdigest()[:24]
        directory = user_directory() / "locks"
        directory.mkdir(mode=0o700, exist_ok=True)
        self._holder = Path(directory) / f"{digest}.holder"
        self._lock = filelock.FileLock(Path(directory) / f"{digest}.lock")

    def acquire(self, holder: str) -> None:
        """Take the lock, or say who holds it.

        Args:
            holder: For whom it is taken, such as ``test process 1234``: the process that
                people see and started, not the supervisor, which they didn't.

        Raises:
            SafetyError: Somebody else holds it.
        """
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            other = "another process"
            with contextlib.suppress(OSError):
                other = self._holder.read_text(encoding="utf-8") or other
            raise SafetyError(
                f"{self._resource} is in use by {other}; `safetyq estop` turns it off;"
                " to use it here, wait for that process to end, or end it"
            ) from error
        self._holder.write_text(holder, encoding="utf-8")

    def release(self) -> None:
        """Give the lock back."""
        with contextlib.suppress(OSError):
            self._holder.unlink()
        self._lock.release()

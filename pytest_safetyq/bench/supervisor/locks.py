"""One owner per piece of hardware, also between processes."""

import contextlib
import hashlib
import os
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

    def acquire(self) -> None:
        """Take the lock, or say who holds it.

        Raises:
            SafetyError: Somebody else holds it.
        """
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            holder = "another process"
            with contextlib.suppress(OSError):
                holder = self._holder.read_text(encoding="utf-8") or holder
            raise SafetyError(
                f"{self._resource} is in use by {holder}; wait for it to end, or end it"
            ) from error
        self._holder.write_text(f"process {os.getpid()}", encoding="utf-8")

    def release(self) -> None:
        """Give the lock back."""
        with contextlib.suppress(OSError):
            self._holder.unlink()
        self._lock.release()

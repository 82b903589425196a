"""Starting the supervisor."""

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from pytest_safetyq.bench import endpoint as endpoints
from pytest_safetyq.bench.endpoint import ANNOUNCEMENT, Endpoint
from pytest_safetyq.bench.platform import own_session, user_directory
from pytest_safetyq.errors import LinkLost

START_TIMEOUT_S = 20.0


def start_supervisor(stderr: int | None = None) -> tuple["subprocess.Popen[str]", Endpoint]:
    """Start a supervisor and return its process and where it listens.

    Args:
        stderr: A descriptor for its last words; None: this process's own.

    Raises:
        LinkLost: It doesn't come up.
        RuntimeDirectoryError: There is no directory in which it would be found.
    """
    user_directory()  # what is wrong with it is said here, not by the end of a process
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pytest_safetyq.bench.supervisor"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=_environment(),
        **own_session(),
    )
    assert process.stdout is not None
    try:
        line = _announced(process.stdout)
        if not line:
            raise LinkLost(
                f"the supervisor did not come up in {START_TIMEOUT_S:g} s"
                if process.poll() is None
                else f"the supervisor ended at once with status {process.returncode}"
            )
        return process, endpoints.load(Path(line))
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        process.stdout.close()


def _announced(pipe: IO[str]) -> str:
    """Return what follows ``ANNOUNCEMENT``; empty if that doesn't come in time.

    Other lines are somebody else's: a ``sitecustomize`` may greet every process.
    """
    found: queue.SimpleQueue[str] = queue.SimpleQueue()

    def look() -> None:
        for line in pipe:
            if line.startswith(ANNOUNCEMENT):
                found.put(line.removeprefix(ANNOUNCEMENT).strip())
                return
        found.put("")

    threading.Thread(target=look, daemon=True).start()
    try:
        return found.get(timeout=START_TIMEOUT_S)
    except queue.Empty:
        return ""


def _environment() -> dict[str, str]:
    """Return the environment in which the supervisor finds this very package."""
    environment = dict(os.environ)
    home = str(Path(__file__).parents[3])
    paths = [home, *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    # The user's wish to see warnings as errors is about the tests, not about this process.
    environment.pop("PYTHONWARNINGS", None)
    return environment

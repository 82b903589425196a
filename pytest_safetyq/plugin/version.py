"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


def version() -> str:
    """Return the version; of a source tree that isn't installed, ``unknown``."""
    try:
        return installed("pytest-safetyq")
    except PackageNotFoundError:
        return "unknown"

"""Files that are there as a whole, or as they were before."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` such that nobody ever finds half of it there.

    Raises:
        OSError: The file can't be written; one that was there before is as it was.
    """
    # In the same folder: only within one file system is a replacement a single step.
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise

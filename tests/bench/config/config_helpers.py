"""What the tests of mistakes in bench files share."""

from pathlib import Path

import pytest

from pytest_safetyq.bench.config import BenchFileError, load_bench


def message_of(path: Path, data: str | bytes) -> str:
    """Return the error that the file gives, without the folder, and hold it to its form."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(BenchFileError) as caught:
        load_bench(path)
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.problem
    assert caught.value.remedy
    return text.replace(f"{path.parent}/", "")

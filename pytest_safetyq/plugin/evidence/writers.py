"""Which writer a report file gets, found out while the options are read."""

from collections.abc import Callable
from pathlib import Path

from pytest_safetyq.plugin.evidence.html_report import write_html
from pytest_safetyq.plugin.evidence.json_report import write_json
from pytest_safetyq.plugin.evidence.model import RunEvidence

Writer = Callable[[RunEvidence, Path], None]

WRITERS: dict[str, Writer] = {".json": write_json, ".html": write_html}


def writer_for(path: str) -> Writer:
    """Return what writes the report that ``--safetyq-report`` names.

    Args:
        path: The file, as the user named it.

    Raises:
        ValueError: It has another ending, or can't be a file there; in one line, with what
            would be right.
    """
    ending = Path(path).suffix
    writer = WRITERS.get(ending.lower())
    if writer is None:
        wrong = f'unknown ending "{ending}"' if ending else "no ending"
        raise ValueError(
            f"--safetyq-report {path}: {wrong}; write a name that ends in .json or .html"
        )
    check_place("--safetyq-report", path)
    return writer


def check_place(option: str, path: str) -> None:
    """Check before the run that ``path`` can be a file after it.

    Args:
        option: The option that names it, for the message.
        path: The file, as the user named it.

    Raises:
        ValueError: Its folder doesn't exist, or it is a folder itself; in one line, with
            what would be right.
    """
    file = Path(path)
    if not file.parent.is_dir():
        raise ValueError(
            f"{option} {path}: there is no folder {file.parent}; create it, or name another"
        )
    if file.is_dir():
        raise ValueError(f"{option} {path}: that is a folder; name a file in it")

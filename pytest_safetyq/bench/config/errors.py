"""The one error of the bench file and of profile files: one line that can be acted on."""

import difflib
from collections.abc import Iterable

from pytest_safetyq.errors import SafetyError

_SHOWN_CHARACTERS = 60


class BenchFileError(SafetyError):
    """A mistake in a bench file or a profile file.

    Its text is always one line, ``FILE:LINE: KEY: what is wrong; what would be right``;
    the line and the key are left out where the mistake has none (a missing file).

    Attributes:
        file: The file, as it was named.
        line: The line of the mistake, from 1, or ``None``.
        key: The dotted path of the key, such as ``instruments.smu.timeout_s``, or ``""``.
        problem: What is wrong.
        remedy: What would be right.
    """

    def __init__(
        self, file: str, problem: str, remedy: str, line: int | None = None, key: str = ""
    ) -> None:
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.remedy = remedy
        super().__init__(file, problem, remedy, line, key)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [where, self.key, f"{self.problem}; {self.remedy}"]
        # A name or a value from the file may hold a line break: the message may not.
        return " ".join(": ".join(part for part in parts if part).split())


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, cut to a length that fits on a line."""
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 3] + "..."
    return f'"{text}"'


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean "timeout_s"?``, or the list of ``known`` if nothing is close."""
    names = list(known)
    # Compared in lower case: "Timeout_S" is a slip of the same kind as "timout_s".
    close = difflib.get_close_matches(word.lower(), names, n=1)
    if close:
        return f"did you mean {quoted(close[0])}?"
    return "known are " + ", ".join(names)

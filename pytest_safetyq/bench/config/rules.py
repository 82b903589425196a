"""What is right for one value of a bench file, said beside its type.

A `Rule` rides on the type in ``Annotated``. The reader enforces it, every error message
takes its second half from it, and the JSON Schema takes its constraints and descriptions
from it, so the three cannot disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rule:
    r"""The constraints of a value, and the words for them.

    Attributes:
        what: Completes the sentence "write ...": ``"a time in seconds"``.
        example: A right value, as it is typed in YAML.
        least: Numbers must not be below this.
        above: Numbers must be strictly above this.
        most: Numbers must not be above this.
        pattern: Text must match this regular expression as a whole; it is also put in the
            JSON Schema, so it keeps to what Python and ECMA 262 read alike.
        min_items: A list or a mapping must have at least so many entries.
        as_written: A number or a truth value counts as the text that was typed, so that
            ``accept: [0]`` needs no quotes.
        check: Raises ``ValueError`` for text that is wrong in a way that ``pattern`` cannot
            say; its message becomes the problem.
    """

    what: str
    example: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    pattern: str | None = None
    min_items: int = 0
    as_written: bool = False
    check: Callable[[str], object] | None = None

    @property
    def remedy(self) -> str:
        """The sentence that says what would be right."""
        return f"write {self.what}, such as {self.example}"

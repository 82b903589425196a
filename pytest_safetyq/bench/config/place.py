"""Where one value stands in a YAML file: its node, its line and the path of its key."""

from dataclasses import dataclass

import yaml

from pytest_safetyq.bench.config.document import Scalar, line_of, scalar_value
from pytest_safetyq.bench.config.errors import BenchFileError, quoted


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a file.

    Attributes:
        file: The file, as it was named.
        node: The YAML node of the value.
        line: The line of its key, from 1; of the value itself, in a list.
        key: The dotted path, such as ``instruments.smu.off[0]``; ``""`` at the top.
    """

    file: str
    node: yaml.Node
    line: int
    key: str = ""

    def error(self, problem: str, remedy: str) -> BenchFileError:
        """Return the error that something is wrong at this place."""
        return BenchFileError(self.file, problem, remedy, line=self.line, key=self.key)

    def scalar(self) -> Scalar:
        """Return the value of the scalar at this place.

        Raises:
            BenchFileError: It has a tag of its own.
        """
        try:
            return scalar_value(self.node)
        except ValueError as error:
            raise self.error(str(error), "write the plain value") from error

    def shown(self) -> str:
        """Return the value as an error message shows it: text in quotes, the rest as typed."""
        if isinstance(self.node, yaml.MappingNode):
            return "a mapping"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        value = self.scalar()
        if value is None:
            return "nothing"
        text: str = self.node.value
        return quoted(text) if isinstance(value, str) else text

    def items(self) -> list["Place"]:
        """Return the places of a list's entries; the node must be a sequence."""
        return [
            Place(self.file, node, line_of(node), f"{self.key}[{index}]")
            for index, node in enumerate(self.node.value)
        ]

    def entries(self) -> dict[str, "Place"]:
        """Return the places of a mapping's values by key, in the order of the file.

        Raises:
            BenchFileError: A key is not text, stands there twice, or is YAML 1.1's merge key.
        """
        found: dict[str, Place] = {}
        for key_node, value_node in self.node.value:
            name = self._name(key_node)
            path = f"{self.key}.{name}" if self.key else name
            place = Place(self.file, value_node, line_of(key_node), path)
            if name == "<<":
                raise place.error("merge keys are not supported", "write the keys out")
            if name in found:
                raise place.error(
                    f"the key is there twice, first in line {found[name].line}",
                    "leave one of the two",
                )
            found[name] = place
        return found

    def _name(self, key_node: yaml.Node) -> str:
        place = Place(self.file, key_node, line_of(key_node), self.key)
        if isinstance(key_node, yaml.ScalarNode):
            name = place.scalar()
            if isinstance(name, str):
                return name
        raise place.error(f"the key {place.shown()} is not text", "write a name as the key")


def root_place(root: yaml.Node, file: str) -> Place:
    """Return the place of a whole document."""
    return Place(file, root, line_of(root))

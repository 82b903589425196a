"""Parts of the documentation that are made from the code, and must be what the code says now.

``python tests/docs/test_docs_generated.py`` writes them anew.
"""

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import resources
from itertools import takewhile
from pathlib import Path

import pytest

from pytest_safetyq.bench.profiles import profile_names, shipped_profile
from pytest_safetyq.scheduling.command import LIFE
from pytest_safetyq.scheduling.latch import LATCH

DOCS = Path(__file__).parents[2] / "docs"
WIDTH = 92
_REGION = re.compile(
    r"<!-- generated: (?P<what>[\w.]+) -->\n(?P<text>.*?)<!-- end of generated -->", re.DOTALL
)
_HIDDEN = ("subscribe", "enqueue", "distrust", "latch")
"""Members of a dispatcher that the supervisor uses, and nobody else should."""
_GIVEN = ("Instrument", "AsyncInstrument", "Safety", "RemoteDispatcher", "PollStream")
"""Classes that are got from a fixture or a method, and never made by the user."""


def drawn(table: dict[tuple[str, str], str], first: str) -> str:
    """Return a table of transitions as a mermaid diagram, and as a table for those without it."""
    states = list(dict.fromkeys([first, *(s for s, _ in table), *table.values()]))
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {_identifier(first)}"]
    lines += [f'    state "{s}" as {_identifier(s)}' for s in states if " " in s]
    lines += [
        f"    {_identifier(state)} --> {_identifier(following)}: {event}"
        for (state, event), following in table.items()
    ]
    final = [s for s in states if not any(state == s for state, _ in table)]
    lines += [f"    {_identifier(s)} --> [*]" for s in final]
    lines += ["```", "", "| in the state | on | it becomes |", "|---|---|---|"]
    lines += [f"| {state} | {event} | {following} |" for (state, event), following in table.items()]
    return "\n".join(lines) + "\n"


def profiles() -> str:
    """Return the shipped profiles as a table; the source is what the file's head says of it."""
    rows = ["| profile | model | off | confirm | source |", "|---|---|---|---|---|"]
    for name in profile_names():
        profile = shipped_profile(name)
        model, source = (_first_sentence(part) for part in _head(name).split(" Source: "))
        off = ", ".join(f"`{step.send}`" for step in profile.off) or "nothing"
        confirm = ", ".join(f"`{confirm.query}`" for confirm in profile.confirms)
        rows.append(f"| `{name}` | {model} | {off} | {confirm} | {source} |")
    return "\n".join(rows) + "\n"


def _head(name: str) -> str:
    file = resources.files("pytest_safetyq") / "bench" / "profiles" / f"{name}.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    return " ".join(line[2:] for line in takewhile(lambda line: line.startswith("# "), lines))


def _first_sentence(text: str) -> str:
    return re.split(r"(?<!vol)\.(?: |$)", text)[0].replace("|", "\\|")


def stub(path: str) -> str:
    """Return what a class of the package offers, as Python without bodies."""
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    lines = [f"class {thing.__name__}:", *_members(thing)]
    return "\n".join(["```python", *lines, "```"]) + "\n"


def _members(kind: type) -> Iterator[str]:
    trees: dict[str, ast.stmt] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("pytest_safetyq"):
            trees |= {_name(node): node for node in _tree(base).body if _name(node)}
    is_made = not (
        hasattr(kind, "__dataclass_fields__")
        or issubclass(kind, Enum)
        or kind.__name__ in _GIVEN
        or "Protocol" in {base.__name__ for base in kind.__bases__}
    )
    shown = [
        node
        for name, node in trees.items()
        if (is_made if name == "__init__" else not name.startswith("_") and name not in _HIDDEN)
    ]
    for before, node in zip([None, *shown], shown, strict=False):
        if before is not None and _is_method(before) != _is_method(node):
            yield ""  # as ruff formats it
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(node, "    ")
        else:
            yield f"    {ast.unparse(node)}".replace("'", '"')


def _is_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: str) -> Iterator[str]:
    returns = ast.unparse(node.returns).strip("'") if node.returns else "None"
    docstring = (ast.get_docstring(node) or "").split("\n\n")[0]
    summary = " ".join(docstring.split()).replace("``", "").replace("`", "")
    if node.name != "__init__":
        yield from textwrap.wrap(
            summary, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
    if _is_property(node):
        yield f"{indent}{node.name}: {returns}"
        return
    if any(ast.unparse(d) == "classmethod" for d in node.decorator_list):
        yield f"{indent}@classmethod"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    head, tail = f"{indent}{word} {node.name}(", f") -> {returns}: ..."
    arguments = ", ".join(_arguments(node.args))
    if len(head + arguments + tail) <= WIDTH:
        yield head + arguments + tail
        return
    yield head
    yield from (f"{indent}    {argument}," for argument in _arguments(node.args))
    yield indent + tail


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    """Yield each parameter as it is written, with its default."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for parameter, default in zip(plain, defaults, strict=True):
        yield _parameter(parameter, default)
        if arguments.posonlyargs and parameter is arguments.posonlyargs[-1]:
            yield "/"
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(parameter, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return ast.unparse(parameter)
    value = ast.unparse(default).replace("'", '"')
    separator = " = " if parameter.annotation else "="
    return f"{ast.unparse(parameter)}{separator}{value}"


def _tree(kind: type) -> ast.ClassDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    return tree


def _identifier(state: str) -> str:
    return state.replace(" ", "_")


GENERATORS: dict[str, Callable[[], str]] = {
    "LIFE": lambda: drawn({(s, e): f for (s, e), f in LIFE.items()}, "new"),
    "PROFILES": profiles,
    "LATCH": lambda: drawn({(s.value, e.value): f.value for (s, e), f in LATCH.items()}, "armed"),
}


def right_text(what: str) -> str:
    """Return the text that belongs in the region ``what``."""
    return GENERATORS[what]() if what in GENERATORS else stub(what)


def pages() -> list[Path]:
    return sorted(p for p in DOCS.rglob("*.md") if _REGION.search(p.read_text(encoding="utf-8")))


def regions() -> list[tuple[str, str, str]]:
    return [
        (str(page.relative_to(DOCS)), found["what"], found["text"])
        for page in pages()
        for found in _REGION.finditer(page.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("page", "what", "text"), regions(), ids=[f"{page}-{what}" for page, what, _ in regions()]
)
def test_generated_region_is_up_to_date(page: str, what: str, text: str) -> None:
    assert text == right_text(what), f"{page}: run python tests/docs/test_docs_generated.py"


def test_both_tables_are_drawn() -> None:
    drawn_in = {what: page for page, what, _ in regions()}
    assert drawn_in["LIFE"] == drawn_in["LATCH"] == str(Path("explanation", "architecture.md"))


def test_the_profiles_are_listed() -> None:
    assert ("PROFILES", str(Path("reference", "bench-file.md"))) in {
        (w, p) for p, w, _ in regions()
    }


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "library.md").read_text(encoding="utf-8")
    for module in ("pytest_safetyq", "pytest_safetyq.bench", "pytest_safetyq.links"):
        for name in importlib.import_module(module).__all__:
            if (module, name) != ("pytest_safetyq.bench", "Bench"):  # the plugin's, not the user's
                assert f"`{name}`" in text, f"{module}.{name}"


def main() -> None:
    """Write every region anew."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = _REGION.sub(
            lambda m: (
                f"<!-- generated: {m['what']} -->\n{right_text(m['what'])}<!-- end of generated -->"
            ),
            old,
        )
        if new != old:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page} is written anew\n")


if __name__ == "__main__":
    main()

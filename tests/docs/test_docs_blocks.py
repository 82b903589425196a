"""Code and files in README.md and docs/: compiled, loaded, and run where they are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from projects import Suite

from pytest_safetyq.bench.config import load_bench, load_profile

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(
    r"^(?:<!-- (?P<key>not run|file): (?P<value>[^\n]+) -->\n)?"
    r"```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OPTIONS = re.compile(r"^<!-- options: (.+) -->$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, and what the HTML comment before it says.

    ``<!-- not run: why -->``: it is only compiled. ``<!-- file: NAME -->``: the tests of the
    page find it under this name. ``<!-- options: ... -->`` anywhere is for the run of the page.
    """

    page: str
    line: int
    language: str
    text: str
    key: str
    value: str

    @property
    def is_run(self) -> bool:
        return self.language == "python" and self.key != "not run"

    @property
    def is_program(self) -> bool:
        return 'if __name__ == "__main__":' in self.text


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        yield Block(
            str(page.relative_to(ROOT)),
            line,
            found["language"],
            found["text"],
            found["key"] or "",
            found["value"] or "",
        )


ALL = [block for page in PAGES for block in blocks(page)]


def _named(block: Block) -> str:
    return f"{block.page}:{block.line}"


def _write_files(directory: Path, files: list[Block]) -> None:
    for block in files:
        if block.key == "file":
            file = directory / block.value
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("block", [b for b in ALL if b.language == "python"], ids=_named)
def test_python_compiles(block: Block) -> None:
    compile("\n" * block.line + block.text, block.page, "exec")


def test_every_fence_is_closed_and_has_a_language() -> None:
    assert len(ALL) > 50
    assert [_named(block) for block in ALL if not block.language] == []
    for page in PAGES:
        fences = re.findall(r"^```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(list(blocks(page))), page


def _complete(page: Path) -> list[Block]:
    return [b for b in blocks(page) if b.is_run and ("def test_" in b.text or b.is_program)]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if _complete(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_complete_examples_pass(page: Path, suite: Suite) -> None:
    _write_files(suite.directory, list(blocks(page)))
    expected = 0
    for block in _complete(page):
        if block.is_program:
            suite.write(block.text, f"program_{block.line}.py")
            source = (
                "import runpy\n"
                f"def test_program():\n"
                f"    runpy.run_path('program_{block.line}.py', run_name='__main__')\n"
            )
        else:
            source = block.text
        suite.write(source, f"test_line_{block.line}.py")
        expected += len(re.findall(r"^(?:async )?def test_", source, re.MULTILINE))
    options = _OPTIONS.search(page.read_text(encoding="utf-8"))

    ended = suite.run(*(options[1].split() if options else []))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    ran = sum(int(n) for n in re.findall(r"(\d+) (?:passed|skipped)", ended.stdout))
    assert ran == expected, ended.stdout


@pytest.mark.parametrize(
    "block",
    [b for b in ALL if b.language == "yaml" and re.search(r"^instruments:", b.text, re.MULTILINE)],
    ids=_named,
)
def test_bench_file_loads(block: Block, tmp_path: Path) -> None:
    _write_files(tmp_path, [b for b in ALL if b.value.startswith("profiles/")])
    file = tmp_path / "bench.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_bench(file).instruments


@pytest.mark.parametrize(
    "block",
    [b for b in ALL if b.language == "yaml" and re.search(r"^off:", b.text, re.MULTILINE)],
    ids=_named,
)
def test_profile_loads(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "profile.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_profile(file).off


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target, anchor in _LINK.findall(text):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.relative_to(ROOT)}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page.relative_to(ROOT)}: {target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name != "README.md" and page.parent.name != "decisions":
            assert f"({page.relative_to(ROOT / 'docs').as_posix()})" in index

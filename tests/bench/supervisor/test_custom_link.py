"""A link of the user's own, named in the bench file."""

from __future__ import annotations

import pytest
from projects import Suite

FACTORY = '''
import pathlib
from pytest_safetyq.links import ScriptedLink

SENT = pathlib.Path(__file__).with_name("sent.txt")


class Mux(ScriptedLink):
    """An instrument behind a relay matrix; here a script plays it."""

    deadline_s = 0.0
    lost = False
    has_unread = False
    identity = None

    async def open(self, timeout_s):
        self.identity = b"MUX,1,2,3"
        return self

    async def write(self, payload, /):
        with SENT.open("a") as sent:
            print(payload.decode(), file=sent)
        await super().write(payload)


def mux(resource, *, write_terminator, read_terminator, identity_query):
    assert (resource, write_terminator, read_terminator) == ("GPIB0::5::INSTR", b"\\n", b"\\n")
    assert identity_query == b"*IDN?"
    return Mux({b"OUTP?": b"0", b"*IDN?": b"MUX,1,2,3"})


NOTHING = 5

def no_link(resource, **settings):
    return object()

def broken(resource, **settings):
    raise RuntimeError("no relay matrix here")
'''
BENCH = """
instruments:
  dut:
    resource: GPIB0::5
    model: generic-scpi
    link: {link}
"""


@pytest.fixture
def bench(suite: Suite) -> Suite:
    (suite.directory / "lab").mkdir()
    (suite.directory / "lab" / "my_links.py").write_text(FACTORY, encoding="utf-8")
    suite.write("def test_it(instrument):\n    assert instrument.query('OUTP?') == '0'\n")
    return suite


def run(bench: Suite, link: str) -> tuple[int, str]:
    file = bench.directory / "lab" / "bench.yaml"
    file.write_text(BENCH.format(link=link), encoding="utf-8")
    ended = bench.run(f"--safetyq-bench={file}")
    return ended.returncode, ended.stdout + ended.stderr


def test_it_is_found_beside_the_bench_file_and_used(bench: Suite) -> None:
    code, output = run(bench, "my_links:mux")
    assert code == 0, output
    sent = (bench.directory / "lab" / "sent.txt").read_text(encoding="utf-8").split("\n")
    assert "OUTP OFF" in sent
    assert "dut: GPIB0::5::INSTR REAL" in output


WRONG = {
    "no such module": ("your_links:mux", "No module named 'your_links'"),
    "no such name": ("my_links:nux", "has no 'nux'"),
    "no callable": ("my_links:NOTHING", "is no callable"),
    "no link": ("my_links:no_link", "gave an object, which is no link"),
    "raises": ("my_links:broken", "RuntimeError: no relay matrix here"),
}


@pytest.mark.parametrize(("link", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_one_is_one_line(bench: Suite, link: str, words: str) -> None:
    code, output = run(bench, link)
    assert code != 0
    assert words in output
    assert f"dut: link {link!r}" in output
    assert "Traceback" not in output


def test_another_form_is_a_mistake_in_the_file(bench: Suite) -> None:
    code, output = run(bench, "my_links.mux")
    assert code == 4
    assert "instruments.dut.link" in output
    assert "package.module:factory" in output

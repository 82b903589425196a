from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_instruments.model.header import parse_header
from sim_instruments.model.mnemonics import short_form, spellings
from sim_instruments.model.scpi_errors import HEADER_SUFFIX_OUT_OF_RANGE, ScpiError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORD = st.builds(
    lambda short, rest: short + rest,
    st.text(LETTERS, min_size=1, max_size=4),
    st.text(LETTERS.lower(), max_size=6),
)
NODE = st.tuples(WORD, st.booleans())


def notation(nodes: list[tuple[str, bool]]) -> str:
    return "".join(f"[:{word}]" if optional else f":{word}" for word, optional in nodes)


@given(nodes=st.lists(NODE, min_size=1, max_size=5), query=st.booleans(), data=st.data())
def test_every_spelling_of_a_notation_matches_it(
    nodes: list[tuple[str, bool]], query: bool, data: st.DataObject
) -> None:
    spelled = ""
    for word, optional in nodes:
        if optional and data.draw(st.booleans()):
            continue
        form = data.draw(st.sampled_from(sorted(spellings(word))))
        spelled += f":{form}{data.draw(st.sampled_from(['', '1']))}"
    mark = "?" if query else ""
    assert parse_header(notation(nodes) + mark).match(spelled + mark) == 1


@given(word=WORD, cut=st.integers(1, 9))
def test_a_word_between_its_short_and_long_form_is_another_word(word: str, cut: int) -> None:
    part = word.upper()[:cut]
    matched = parse_header(f":{word}").match(f":{part}") is not None
    assert matched == (part in (short_form(word), word.upper()))


@given(nodes=st.lists(NODE, min_size=1, max_size=5))
def test_a_query_is_not_its_command(nodes: list[tuple[str, bool]]) -> None:
    everything = "".join(f":{word.upper()}" for word, _optional in nodes)
    assert parse_header(notation(nodes)).match(f"{everything}?") is None
    assert parse_header(f"{notation(nodes)}?").match(everything) is None


@given(text=st.text(max_size=20))
def test_text_is_a_notation_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_header(text).notation == text


def test_a_numeric_suffix_other_than_1_is_out_of_range() -> None:
    with pytest.raises(ScpiError) as caught:
        parse_header(":OUTPut[:STATe]").match(":OUTP2:STAT")
    assert caught.value.code == HEADER_SUFFIX_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("spelled", "channel"), [(":OUTP2", 2), (":OUTPUT3:STAT", 3), (":OUTP", 1)]
)
def test_a_suffix_in_the_place_of_n_is_the_channel(spelled: str, channel: int) -> None:
    assert parse_header(":OUTPut<n>[:STATe]").match(spelled) == channel


@pytest.mark.parametrize("bad", ["", ":", "OUTP UT", "[:OUTPut", "outPUT", ":A<n>:B<n>", "*idn?"])
def test_a_malformed_notation_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"header|notation"):
        parse_header(bad)

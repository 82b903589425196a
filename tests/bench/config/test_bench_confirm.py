"""How "off" is read back: one query or several, an echo before the answer, bits of a status."""

from pathlib import Path

import pytest
from config_helpers import message_of

from pytest_safetyq.bench.config import Confirm, Profile, Step, load_profile

OFF = Step(send="OUT OFF")
ONE, TWO = (Confirm(query=f"OUT{n}?", accept=("0",)) for n in (1, 2))


def test_one_mapping_and_a_list_of_them_are_both_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text('off: [X]\nconfirm: [{query: "OUT1?", accept: [0]}, {query: B, accept: [OFF]}]')

    profile = load_profile(file)

    assert profile.confirm == profile.confirms == (ONE, Confirm(query="B", accept=("OFF",)))
    file.write_text('off: [X]\nconfirm: {query: "OUT1?", accept: [0]}')
    assert load_profile(file).confirms == (ONE,)


def test_what_has_nothing_to_switch_off_confirms_nothing() -> None:
    assert Profile(off=()).confirms == ()


def test_a_mask_may_be_written_in_hexadecimal(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text('off: [X]\nconfirm: {query: "S?", mask: 0x30, accept: [0]}')

    assert load_profile(file).confirms[0].mask == 48


@pytest.mark.parametrize(
    ("reply", "is_off"),
    [
        ("0x0", True),
        ("0x0f", True),
        ("0XCF\n", True),
        ("15", True),
        ("0x10", False),
        ("0x24", False),
        ("48", False),
        ("0.0", False),
        ("-1", False),
        ("0x", False),
        ("", False),
        ("0,0", False),
        ("OFF", False),
        ("nonsense", False),
    ],
)
def test_only_the_bits_of_the_mask_count_and_the_rest_must_be_a_number(
    reply: str, is_off: bool
) -> None:
    assert Confirm(query="S?", mask=0x30, accept=("0",)).accepts(reply) is is_off


@pytest.mark.parametrize(
    ("reply", "is_off"),
    [
        ("STA: 0", True),
        ("sta:0\r", True),
        ("STA: 65536", True),
        ("STA: 1", False),
        ("STA: 2", False),
        ("STA:", False),
        ("0", False),
        ("ERR: unknown", False),
        ("EMOFF", False),
    ],
)
def test_what_is_echoed_before_the_answer_must_be_there(reply: str, is_off: bool) -> None:
    assert Confirm(query="STA", prefix="STA:", mask=3, accept=("0",)).accepts(reply) is is_off


def test_a_prefix_without_a_mask() -> None:
    confirm = Confirm(query="INP?", prefix="INP", accept=("0",))

    assert confirm.accepts("INP 0\n")
    assert not confirm.accepts("INP 1")
    assert not confirm.accepts("0")


BENCH = """\
instruments:
  psu:
    resource: GPIB0::5::INSTR
    profile:
      off: [X]
      confirm: CONFIRM
"""


@pytest.mark.parametrize(
    ("confirm", "said"),
    [
        (
            "[]",
            "6: instruments.psu.profile.confirm: is empty; write how off is read back, such as "
            'confirm: [{query: "OUTP1?", accept: [0]}]',
        ),
        (
            '[{query: "A?", accept: [0]}, {query: "B?"}]',
            '6: instruments.psu.profile.confirm[1]: "accept" is missing; '
            "write the answers that mean off, such as [0, OFF]",
        ),
        (
            '["A?"]',
            '6: instruments.psu.profile.confirm[0]: "A?" is not a mapping; '
            "write a mapping with query, accept, prefix, mask",
        ),
        (
            '"A?"',
            '6: instruments.psu.profile.confirm: "A?" is not a mapping; '
            "write a mapping with query, accept, prefix, mask",
        ),
        (
            '{query: "A?", accept: [0], mask: 0}',
            "6: instruments.psu.profile.confirm.mask: 0 is below 1; "
            "write the bits that count, as a number, such as 0x30",
        ),
        (
            '{query: "A?", accept: [0], mask: "0x30"}',
            '6: instruments.psu.profile.confirm.mask: "0x30" is not a whole number; '
            "write the bits that count, as a number, such as 0x30",
        ),
        (
            '{query: "A?", accept: [OFF], mask: 0x30}',
            '6: instruments.psu.profile.confirm: "mask" with OFF in "accept"; '
            "write what is left of the number, such as accept: [0]",
        ),
    ],
)
def test_a_mistake_in_it_is_one_line(tmp_path: Path, confirm: str, said: str) -> None:
    assert message_of(tmp_path / "bench.yaml", BENCH.replace("CONFIRM", confirm)).endswith(said)

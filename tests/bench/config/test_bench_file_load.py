"""A right bench file, and what becomes of it."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pytest_safetyq.bench.config import (
    BenchConfig,
    Confirm,
    Identity,
    Profile,
    SerialConfig,
    Step,
    load_bench,
    load_profile,
)
from pytest_safetyq.bench.profiles import shipped_profile

CONTRACT_EXAMPLE = """\
visa: "@py"                     # optional, for all
instruments:
  smu:
    resource: GPIB0::24::INSTR
    model: keithley-2400        # a shipped profile, or a path to your own
    timeout_s: 0.2              # default budget of a transaction
    limits: {voltage_v: 20, current_a: 1}
  laser:
    resource: ASRL/dev/ttyUSB0::INSTR
    serial: {baud_rate: 115200}
    profile:                    # inline
      off: [":LASER OFF"]
      confirm: {query: ":LASER?", accept: ["0", "OFF"]}
      gap_s: 0.02
      settle_s: 0.1
"""


def written(folder: Path, text: str, name: str = "bench.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def profile_of(folder: Path, text: str) -> Profile:
    return load_profile(written(folder, text, "profile.yaml"))


def test_the_contracts_example_loads(tmp_path: Path) -> None:
    bench = load_bench(written(tmp_path, CONTRACT_EXAMPLE))

    assert bench.visa == "@py"
    assert list(bench.instruments) == ["smu", "laser"]
    smu, laser = bench.instruments.values()
    assert smu.profile == shipped_profile("keithley-2400")
    assert (smu.timeout_s, smu.limits) == (0.2, {"voltage_v": 20.0, "current_a": 1.0})
    assert laser.serial == SerialConfig(baud_rate=115200)
    assert laser.profile == Profile(
        off=(Step(send=":LASER OFF"),),
        confirm=Confirm(query=":LASER?", accept=("0", "OFF")),
        gap_s=0.02,
        settle_s=0.1,
    )


def test_the_order_of_the_file_is_kept(tmp_path: Path) -> None:
    names = ["zeta", "alpha", "mid-1", "_x"]
    lines = "".join(f"  {name}: {{resource: 'GPIB0::{n}'}}\n" for n, name in enumerate(names))

    assert list(load_bench(written(tmp_path, "instruments:\n" + lines)).instruments) == names


def test_off_and_on_are_words_and_not_truth_values(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path, "off: [OFF, {send: no}]\nconfirm: {query: on, accept: [OFF, off, no, 0, 0.0]}\n"
    )

    assert profile.off == (Step(send="OFF"), Step(send="no"))
    assert profile.confirm == Confirm(query="on", accept=("OFF", "off", "no", "0", "0.0"))


def test_an_accepted_number_is_kept_as_it_was_typed(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "off: [X]\nconfirm: {query: Y?, accept: [+0, 0x00, true]}\n")

    assert profile.confirm is not None
    assert profile.confirm.accept == ("+0", "0x00", "true")


def test_steps_in_both_forms(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path,
        "off: [ABOR, {send: OUT OFF, reply: true}]\nconfirm: {query: OUT?, accept: [OFF]}\n",
    )

    assert profile.off == (Step(send="ABOR"), Step(send="OUT OFF", reply=True))


def test_identity_null_means_that_it_has_none(tmp_path: Path) -> None:
    assert profile_of(tmp_path, "off: []\nidentity: null\n").identity is None
    assert profile_of(tmp_path, "off: []\n").identity == Identity()


def test_terminators_in_double_quotes(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 'off: []\nwrite_terminator: "\\r"\nread_terminator: "\\r\\n"\n')

    assert (profile.write_terminator, profile.read_terminator) == ("\r", "\r\n")


def test_limits_as_a_number_and_as_a_pair(tmp_path: Path) -> None:
    bench = load_bench(
        written(
            tmp_path,
            "instruments: {a: {resource: GPIB0::1, model: generic-scpi, "
            "limits: {voltage_v: 5, current_a: [0, 1.5e-1]}}}",
        )
    )

    assert bench.instruments["a"].limits == {"voltage_v": 5.0, "current_a": (0.0, 0.15)}


def test_a_model_path_is_relative_to_the_bench_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep", "off: [X]\nconfirm: {query: X?, accept: [0]}\n", "mine.yaml")
    path = written(tmp_path, "instruments: {a: {resource: GPIB0::1, model: deep/mine.yaml}}")
    monkeypatch.chdir("/")

    profile = load_bench(path).instruments["a"].profile

    assert profile is not None
    assert profile.off == (Step(send="X"),)


def test_without_model_or_profile_the_choice_is_left_open(tmp_path: Path) -> None:
    text = "instruments: {a: {resource: GPIB0::1, limits: {voltage_v: 5}}}"

    instrument = load_bench(written(tmp_path, text)).instruments["a"]

    assert instrument.model is instrument.profile is None


def test_the_same_address_on_two_simulated_benches_is_two_instruments(tmp_path: Path) -> None:
    text = """\
instruments:
  a: {resource: GPIB0::1, visa: one.yaml@sim}
  b: {resource: GPIB0::1, visa: two.yaml@sim}
  c: {resource: GPIB0::1, visa: "@py"}
"""

    assert list(load_bench(written(tmp_path, text)).instruments) == ["a", "b", "c"]


def test_a_byte_order_mark_and_windows_line_ends_are_harmless(tmp_path: Path) -> None:
    text = "\ufeff" + CONTRACT_EXAMPLE.replace("\n", "\r\n")

    assert len(load_bench(written(tmp_path, text)).instruments) == 2


def test_anchors_are_a_way_to_say_it_once(tmp_path: Path) -> None:
    text = """\
instruments:
  a: {resource: GPIB0::1, profile: &supply {off: [X], confirm: {query: X?, accept: [0]}}}
  b: {resource: GPIB0::2, profile: *supply}
"""

    a, b = load_bench(written(tmp_path, text)).instruments.values()

    assert a.profile == b.profile


def test_a_bench_survives_the_way_to_another_process(tmp_path: Path) -> None:
    bench = load_bench(written(tmp_path, CONTRACT_EXAMPLE))

    packed = msgspec.msgpack.encode(bench)

    assert msgspec.msgpack.decode(packed, type=BenchConfig) == bench


def test_reading_a_bench_imports_no_pyvisa_and_ends_cleanly(tmp_path: Path) -> None:
    path = written(tmp_path, CONTRACT_EXAMPLE)
    code = (
        "import sys\nfrom pytest_safetyq.bench.config import load_bench\n"
        f"load_bench({str(path)!r})\nassert 'pyvisa' not in sys.modules\n"
    )

    # msgspec's own way to annotate fields crashed here, after the last line (msgspec#717).
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("off", "confirm"), [((Step(send="X"),), None), ((), Confirm(query="X?", accept=("0",)))]
)
def test_off_and_confirm_come_together(off: tuple[Step, ...], confirm: Confirm | None) -> None:
    with pytest.raises(ValueError, match="without"):
        Profile(off=off, confirm=confirm)

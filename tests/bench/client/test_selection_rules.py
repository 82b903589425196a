"""Which instruments a run is about: each rule, and each mistake in one line that helps."""

from __future__ import annotations

from pathlib import Path

import pytest

import sim_instruments
from pytest_safetyq.bench.config import BenchFileError
from pytest_safetyq.bench.selection import SelectionError, Wish, library_path, select

SHIPPED = f"{sim_instruments.BENCH_YAML}@sim"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    file = tmp_path / "bench.yaml"
    file.write_text(
        'visa: "@py"\n'
        "instruments:\n"
        "  smu: {resource: 'GPIB0::24::INSTR', model: keithley-2400, timeout_s: 0.3,"
        " limits: {voltage_v: 20}}\n"
        "  supply: {resource: 'GPIB0::6', model: sim-supply, visa: '@ivi'}\n"
        "  laser: {resource: 'ASRL/dev/ttyUSB0::INSTR', serial: {baud_rate: 115200}}\n",
        encoding="utf-8",
    )
    return file


def test_with_nothing_named_it_is_the_simulated_bench() -> None:
    selection = select(Wish())
    assert list(selection.specs) == ["smu", "supply", "dmm", "load"]
    assert selection.named == ()
    assert selection.first == "smu"
    smu = selection.specs["smu"]
    assert (smu.resource, smu.model, smu.library) == ("GPIB0::5::INSTR", "keithley-2400", SHIPPED)
    assert smu.simulated


def test_a_bench_file_gives_all_its_instruments(bench: Path) -> None:
    selection = select(Wish(bench=bench))
    assert list(selection.specs) == ["smu", "supply", "laser"]
    smu, supply, laser = selection.specs.values()
    assert (smu.library, smu.timeout_s, smu.limits) == ("@py", 0.3, {"voltage_v": 20.0})
    assert smu.profile is not None
    assert supply.resource == "GPIB0::6::INSTR"
    assert laser.serial is not None
    assert laser.serial.baud_rate == 115200
    assert (laser.model, laser.profile) == (None, None)
    assert not any(spec.simulated for spec in selection.specs.values())


@pytest.mark.parametrize(
    ("visa", "default_visa", "smu", "supply"),
    [
        (None, None, "@py", "@ivi"),
        ("@rs", None, "@rs", "@rs"),
        ("@rs", "@other", "@rs", "@rs"),
        (None, "@other", "@py", "@ivi"),
        ("@sim", None, SHIPPED, SHIPPED),
    ],
)
def test_which_visa_library_wins(
    bench: Path, visa: str | None, default_visa: str | None, smu: str, supply: str
) -> None:
    specs = select(Wish(bench=bench, visa=visa, default_visa=default_visa)).specs
    assert (specs["smu"].library, specs["supply"].library) == (smu, supply)


def test_the_default_library_fills_in_where_the_bench_file_is_silent(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text("instruments: {smu: {resource: 'GPIB0::24'}}\n", encoding="utf-8")
    assert select(Wish(bench=file)).specs["smu"].library == ""
    assert select(Wish(bench=file, default_visa="@py")).specs["smu"].library == "@py"


def test_a_bare_resource_is_real_hardware() -> None:
    (spec,) = select(Wish(instruments=["GPIB0::5"])).specs.values()
    assert (spec.name, spec.resource) == ("GPIB0::5::INSTR", "GPIB0::5::INSTR")
    assert (spec.library, spec.model, spec.profile) == ("", None, None)
    assert not spec.simulated


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("GPIB::5", "GPIB0::5::INSTR"),
        ("gpib0::5", "GPIB0::5::INSTR"),
        ("gpib0::5::instr", "GPIB0::5::INSTR"),
        ("  GPIB0::5  ", "GPIB0::5::INSTR"),
        ("TCPIP::192.0.2.7", "TCPIP0::192.0.2.7::inst0::INSTR"),
        ("tcpip0::192.0.2.7::5025::socket", "TCPIP0::192.0.2.7::5025::SOCKET"),
        ("ASRL/dev/ttyUSB0", "ASRL/dev/ttyUSB0::INSTR"),
        ("USB::0x05E6::0x2450::1", "USB0::0x05E6::0x2450::1::0::INSTR"),
    ],
)
def test_short_forms_and_lower_case(text: str, resource: str) -> None:
    selection = select(Wish(instruments=[text]))
    assert [spec.resource for spec in selection.specs.values()] == [resource]


@pytest.mark.parametrize("text", ["smu", "GPIB0::24", "GPIB0::24::INSTR", "gpib0::24::instr"])
def test_an_instrument_of_the_bench_by_its_name_or_its_resource(bench: Path, text: str) -> None:
    selection = select(Wish(bench=bench, instruments=[text]))
    assert selection.named == ("smu",)
    assert selection.first == "smu"
    assert selection.specs["smu"].timeout_s == 0.3
    assert set(selection.specs) == {"smu", "supply", "laser"}


def test_what_is_named_comes_first(bench: Path) -> None:
    selection = select(Wish(bench=bench, instruments=["laser", "GPIB0::6"]))
    assert list(selection.specs) == ["laser", "supply", "smu"]
    assert selection.named == ("laser", "supply")


def test_a_name_of_the_bench_with_another_resource(bench: Path) -> None:
    selection = select(Wish(bench=bench, instruments=["smu=GPIB0::9"]))
    smu = selection.specs["smu"]
    assert (smu.resource, smu.model, smu.limits) == (
        "GPIB0::9::INSTR",
        "keithley-2400",
        {"voltage_v": 20.0},
    )


def test_a_new_name_for_a_resource_of_the_bench(bench: Path) -> None:
    selection = select(Wish(bench=bench, instruments=["dut=GPIB0::24"]))
    dut = selection.specs["dut"]
    assert (dut.name, dut.model, dut.limits) == ("dut", "keithley-2400", {"voltage_v": 20.0})
    # One link has one owner: it isn't there a second time under its old name.
    resources = [spec.resource for spec in selection.specs.values()]
    assert len(resources) == len(set(resources))


def test_a_new_name_for_a_new_resource(bench: Path) -> None:
    selection = select(Wish(bench=bench, instruments=["meter=GPIB0::7"], default_visa="@py"))
    meter = selection.specs["meter"]
    assert (meter.name, meter.resource, meter.library) == ("meter", "GPIB0::7::INSTR", "@py")
    assert (meter.model, meter.profile) == (None, None)


def test_a_simulation_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(sim_instruments.BENCH_YAML.read_text(encoding="utf-8"), encoding="utf-8")
    (spec,) = select(Wish(instruments=["GPIB0::5"], visa=f"{file}@sim")).specs.values()
    assert (spec.library, spec.simulated) == (f"{file}@sim", True)
    monkeypatch.chdir(tmp_path)
    assert library_path("mine.yaml@sim") == f"{file}@sim"


def test_an_address_of_the_shipped_simulation_has_its_profile() -> None:
    for wish in (
        Wish(instruments=["GPIB0::6"], visa="@sim"),
        Wish(instruments=["GPIB0::6"], default_visa="@sim"),
    ):
        selection = select(wish)
        assert selection.first == "supply"
        assert selection.specs["supply"].model == "sim-supply"
        assert selection.specs["supply"].library == SHIPPED


def test_the_model_of_a_bare_resource(tmp_path: Path) -> None:
    (spec,) = select(Wish(instruments=["GPIB0::5"], model="keithley-2400")).specs.values()
    assert spec.model == "keithley-2400"
    assert spec.profile is not None
    assert spec.profile.off[0].send == ":OUTP OFF"
    file = tmp_path / "mine.yaml"
    file.write_text(
        "off: ['LASER OFF']\nconfirm: {query: 'LASER?', accept: [0]}\n", encoding="utf-8"
    )
    (spec,) = select(Wish(instruments=["GPIB0::5"], model=str(file))).specs.values()
    assert spec.profile is not None
    assert spec.profile.off[0].send == "LASER OFF"


def test_the_model_does_not_change_what_the_bench_file_says(bench: Path) -> None:
    selection = select(Wish(bench=bench, instruments=["smu"], model="sim-load"))
    assert selection.specs["smu"].model == "keithley-2400"


def test_library_paths() -> None:
    assert library_path("@sim") == SHIPPED
    for other in ("", "@py", "@ivi", "/usr/lib/libvisa.so"):
        assert library_path(other) == other


def _wrong(wish: Wish) -> str:
    with pytest.raises((SelectionError, BenchFileError)) as caught:
        select(wish)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_mistake_says_what_would_be_right(bench: Path, tmp_path: Path) -> None:
    text = _wrong(Wish(bench=bench, instruments=["smuu"]))
    assert "'smuu'" in text
    assert "GPIB0::5::INSTR" in text
    assert "smu, supply, laser" in text
    assert "VISA resource name" in _wrong(Wish(instruments=["nonsense"]))
    assert "too many" in _wrong(Wish(instruments=["GPIB0::5::INSTR::1::2"]))
    missing = tmp_path / "missing.yaml"
    assert str(missing) in _wrong(Wish(bench=missing))
    text = _wrong(Wish(visa=f"{missing}@sim"))
    assert str(missing) in text
    assert "@sim" in text


@pytest.mark.parametrize("text", ["", "  ", "smu=", "smu=  ", "=GPIB0::5"])
def test_an_instrument_without_a_resource(bench: Path, text: str) -> None:
    assert "GPIB0::5" in _wrong(Wish(bench=bench, instruments=[text]))


@pytest.mark.parametrize(
    "texts",
    [
        ["smu", "smu"],
        ["smu", "GPIB0::24"],
        ["a=GPIB0::7", "a=GPIB0::8"],
        ["GPIB0::7", "GPIB0::7::INSTR"],
        ["a=GPIB0::7", "b=GPIB0::7"],
        ["smu", "dut=GPIB0::24"],
    ],
)
def test_an_instrument_that_is_named_twice(bench: Path, texts: list[str]) -> None:
    """By its name or by its resource: one link has one owner."""
    assert "twice" in _wrong(Wish(bench=bench, instruments=texts))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("keithley-24000", "keithley-2400"),
        ("zzz", "generic-scpi"),
        ("missing.yaml", "missing.yaml"),
    ],
)
def test_a_model_that_there_is_not(model: str, expected: str) -> None:
    assert expected in _wrong(Wish(instruments=["GPIB0::5"], model=model))


def test_a_resource_of_the_bench_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text("instruments: {smu: {resource: nonsense}}\n", encoding="utf-8")
    assert "smu.resource" in _wrong(Wish(bench=file))


def test_a_name_without_a_bench_file_is_told_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which names there are, and which resources, as the user has to choose one."""
    monkeypatch.setenv("SAFETYQ_RUNTIME_DIR", str(tmp_path / "safetyq"))
    simulation = tmp_path / "other.yaml"
    simulation.write_bytes(sim_instruments.BENCH_YAML.read_bytes())
    with pytest.raises(SelectionError) as caught:
        select(Wish(instruments=["load"], default_visa=f"{simulation}@sim"))
    text = str(caught.value)
    assert text.startswith("--instrument load: 'load' is no resource name (")
    assert "names in a bench file only" in text
    assert "found: GPIB0::5::INSTR, " in text
    assert text.endswith("(with @sim there are smu, supply, dmm, load)")
    assert len(text.splitlines()) == 1


def test_a_resource_of_the_bench_file_that_is_none_says_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text("instruments:\n  smu:\n    resource: GPIB0:5\n", encoding="utf-8")
    with pytest.raises(BenchFileError) as caught:
        select(Wish(bench=file))
    assert str(caught.value).startswith(
        f'{file}:3: instruments.smu.resource: "GPIB0:5" is no resource name ('
    )
    assert str(caught.value).endswith("write a VISA resource name, such as GPIB0::5::INSTR")

"""Every mistake in a bench file: one line with file, line, key, and what would be right."""

import pickle
from pathlib import Path

import pytest
from config_helpers import message_of

from pytest_safetyq.bench.config import BenchFileError, load_profile
from pytest_safetyq.bench.profiles import profile_names

RIGHT = """\
instruments:
  smu:
    resource: GPIB0::24::INSTR
    model: keithley-2400
    timeout_s: 0.2
    limits: {voltage_v: 20}
  laser:
    resource: ASRL/dev/ttyUSB0::INSTR
    serial: {baud_rate: 115200}
    profile:
      off: [":LASER OFF"]
      confirm: {query: ":LASER?", accept: [0]}
      settle_s: 0.1
"""


# What is replaced, by what, and the whole message.
MISTAKES = {
    "not a number": (
        "0.2",
        '"fast"',
        '5: instruments.smu.timeout_s: "fast" is not a number; '
        "write the budget of a transaction in seconds, such as 0.2",
    ),
    "a truth value of YAML 1.1": (
        "0.2",
        "yes",
        '5: instruments.smu.timeout_s: "yes" is not a number; '
        "write the budget of a transaction in seconds, such as 0.2",
    ),
    "a truth value is not a number": (
        "0.2",
        "true",
        "5: instruments.smu.timeout_s: true is not a number; "
        "write the budget of a transaction in seconds, such as 0.2",
    ),
    "not above zero": (
        "0.2",
        "0",
        "5: instruments.smu.timeout_s: 0 is not above 0; "
        "write the budget of a transaction in seconds, such as 0.2",
    ),
    "infinite": (
        "0.2",
        ".inf",
        "5: instruments.smu.timeout_s: .inf is not finite; "
        "write the budget of a transaction in seconds, such as 0.2",
    ),
    "not a number at all": (
        "0.1",
        ".nan",
        "13: instruments.laser.profile.settle_s: .nan is not finite; "
        "write a time in seconds, zero or more, such as 0.02",
    ),
    "negative": (
        "0.1",
        "-0.1",
        "13: instruments.laser.profile.settle_s: -0.1 is below 0; "
        "write a time in seconds, zero or more, such as 0.02",
    ),
    "unknown key": (
        "timeout_s",
        "timout_s",
        '5: instruments.smu.timout_s: unknown key "timout_s"; did you mean "timeout_s"?',
    ),
    "unknown key, nothing close": (
        "serial: {baud_rate",
        "serial: {zzz",
        '9: instruments.laser.serial.zzz: unknown key "zzz"; '
        "known are baud_rate, data_bits, parity, stop_bits, flow_control",
    ),
    "missing key": (
        "    resource: GPIB0::24::INSTR\n",
        "",
        '2: instruments.smu: "resource" is missing; '
        "write a PyVISA resource name, such as GPIB0::24::INSTR",
    ),
    "off left out": (
        '      off: [":LASER OFF"]\n',
        "",
        '10: instruments.laser.profile: "off" is missing; '
        'write the commands that switch everything off, such as off: ["OUTP OFF"]',
    ),
    "confirm left out": (
        '      confirm: {query: ":LASER?", accept: [0]}\n',
        "",
        '10: instruments.laser.profile: "off" without "confirm"; write how off is read back, '
        'such as confirm: {query: "OUTP?", accept: [0, OFF]}',
    ),
    "off empty": (
        'off: [":LASER OFF"]',
        "off: []",
        '10: instruments.laser.profile: "confirm" without "off"; '
        'write what switches it off, such as off: ["OUTP OFF"]',
    ),
    "accept empty": (
        "accept: [0]",
        "accept: []",
        "12: instruments.laser.profile.confirm.accept: is empty; "
        "write the answers that mean off, such as [0, OFF]",
    ),
    "accept not a list": (
        "accept: [0]",
        "accept: OFF",
        '12: instruments.laser.profile.confirm.accept: "OFF" is not a list; '
        "write the answers that mean off, such as [0, OFF]",
    ),
    "accept null": (
        "accept: [0]",
        "accept: [0, ~]",
        "12: instruments.laser.profile.confirm.accept[1]: nothing is not text; "
        "write an answer, such as OFF",
    ),
    "a step that is a number": (
        '":LASER OFF"',
        "5",
        "11: instruments.laser.profile.off[0]: 5 is not text; "
        'write a command as it is sent, such as "OUTP OFF"',
    ),
    "a step that is a list": (
        '":LASER OFF"',
        "[X]",
        "11: instruments.laser.profile.off[0]: a list is not a mapping; "
        "write a mapping with send, reply",
    ),
    "unknown model": (
        "keithley-2400",
        "keithly-2400",
        '4: instruments.smu.model: no profile "keithly-2400" ships; '
        'did you mean "keithley-2400"? (your own: a path ending in .yaml)',
    ),
    "unknown model, nothing close": (
        "keithley-2400",
        "zzz",
        '4: instruments.smu.model: no profile "zzz" ships; known are '
        f"{', '.join(profile_names())} (your own: a path ending in .yaml)",
    ),
    "a model that is a number": (
        "keithley-2400",
        "2400",
        "4: instruments.smu.model: 2400 is not text; write a shipped profile or the path of "
        "your own, such as keithley-2400 or profiles/mine.yaml",
    ),
    "no such profile file": (
        "keithley-2400",
        "mine.yaml",
        '4: instruments.smu.model: there is no file "mine.yaml"; '
        "write a shipped profile's name, or a path relative to this file",
    ),
    "model and profile": (
        "    profile:\n",
        "    model: generic-scpi\n    profile:\n",
        '11: instruments.laser.profile: "model" and "profile" together; leave one of the two out',
    ),
    "the same instrument twice": (
        "ASRL/dev/ttyUSB0::INSTR",
        "gpib::24",
        '8: instruments.laser.resource: "gpib::24" is already instruments.smu; '
        "give each instrument one name",
    ),
    "a limit that nothing can be held against": (
        "voltage_v",
        "power_w",
        '6: instruments.smu.limits.power_w: the profile "keithley-2400" does not say which '
        "commands set it; write a profile whose setpoints name the commands of power_w",
    ),
    "a range upside down": (
        "voltage_v: 20",
        "voltage_v: [5, -5]",
        "6: instruments.smu.limits.voltage_v: 5 is above -5; write [low, high]",
    ),
    "a range of three": (
        "voltage_v: 20",
        "voltage_v: [1, 2, 3]",
        "6: instruments.smu.limits.voltage_v: has 3 entries; write 2 of them",
    ),
    "a limit that is text": (
        "voltage_v: 20",
        "voltage_v: 20 V",
        '6: instruments.smu.limits.voltage_v: "20 V" is not a number; '
        "write a number above zero, or [low, high], such as 20",
    ),
    "a limit without unit": (
        "voltage_v",
        "voltage",
        '6: instruments.smu.limits.voltage: "voltage" is not a right key; '
        "write a quantity and its unit in lower case, such as voltage_v",
    ),
    "a name with a digit in front": (
        "laser:",
        "2nd:",
        '7: instruments.2nd: "2nd" is not a right key; write a name of letters, digits, _ and -, '
        "not beginning with a digit, such as smu",
    ),
    "a name with a line break": (
        "laser:",
        '"laser\\n":',
        '7: instruments.laser : "laser " is not a right key; write a name of letters, digits, '
        "_ and -, not beginning with a digit, such as smu",
    ),
    "a key that is a number": (
        "laser:",
        "5:",
        "7: instruments: the key 5 is not text; write a name as the key",
    ),
    "a key that is a list": (
        "  laser:\n",
        "  [laser]:\n",
        "7: instruments: the key a list is not text; write a name as the key",
    ),
    "a name twice": (
        "laser:",
        "smu:",
        "7: instruments.smu: the key is there twice, first in line 2; leave one of the two",
    ),
    "a key twice, deep": (
        "{baud_rate: 115200}",
        "{baud_rate: 115200, baud_rate: 9600}",
        "9: instruments.laser.serial.baud_rate: the key is there twice, first in line 9; "
        "leave one of the two",
    ),
    "a merge key": (
        "{baud_rate: 115200}",
        "{<<: {baud_rate: 9600}}",
        "9: instruments.laser.serial.<<: merge keys are not supported; write the keys out",
    ),
    "a word of PyVISA's misspelt": (
        "baud_rate: 115200",
        "parity: evn",
        '9: instruments.laser.serial.parity: "evn" is not known here; did you mean "even"?',
    ),
    "a list for a word": (
        "baud_rate: 115200",
        "stop_bits: [1]",
        "9: instruments.laser.serial.stop_bits: a list is not known here; "
        "known are one, one_and_a_half, two",
    ),
    "a fraction for a whole number": (
        "115200",
        "9600.5",
        "9: instruments.laser.serial.baud_rate: 9600.5 is not a whole number; "
        "write the speed in bits per second, such as 9600",
    ),
    "too many bits": (
        "baud_rate: 115200",
        "data_bits: 9",
        "9: instruments.laser.serial.data_bits: 9 is above 8; "
        "write the bits per character, from 5 to 8, such as 8",
    ),
    "an empty resource": (
        "GPIB0::24::INSTR",
        "' '",
        '3: instruments.smu.resource: " " is not right; '
        "write a PyVISA resource name, such as GPIB0::24::INSTR",
    ),
    "a scalar for an instrument": (
        "  laser:\n",
        "  x: 3\n  laser:\n",
        "7: instruments.x: 3 is not a mapping; write a mapping with resource, model, profile, "
        "timeout_s, limits, serial, visa, link",
    ),
    "a terminator in single quotes": (
        "settle_s: 0.1",
        "read_terminator: '\\n'",
        '13: instruments.laser.profile.read_terminator: "\\n" is not right; write the characters '
        'in double quotes, where \\n counts as one, such as "\\r\\n"',
    ),
    "a set-point that is not SCPI notation": (
        "settle_s: 0.1",
        "setpoints: {power_w: ['[POWer']}",
        '13: instruments.laser.profile.setpoints.power_w[0]: "[POWer" has brackets that do not '
        "pair, or no command; write a command in SCPI notation, such as "
        '"[:SOURce[1]]:VOLTage[:LEVel]"',
    ),
    "a tag that makes objects": (
        "0.2",
        "!!python/name:os.system x",
        '5: instruments.smu.timeout_s: the tag "tag:yaml.org,2002:python/name:os.system" is not '
        "supported; write the plain value",
    ),
    "a tag on a mapping": (
        "{baud_rate: 115200}",
        "!port {baud_rate: 9600}",
        '9: instruments.laser.serial: the tag "!port" is not supported; leave it out',
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert RIGHT.count(old) == 1
    shown = message_of(tmp_path / "bench.yaml", RIGHT.replace(old, new))

    assert shown == f"bench.yaml:{message}"


def test_a_mistake_in_a_profile_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("off: []\ngap_s: soon\n")
    bench = "instruments: {a: {resource: GPIB0::1, model: mine.yaml}}"

    assert message_of(tmp_path / "bench.yaml", bench).startswith("mine.yaml:2: gap_s:")


def test_a_limit_on_an_inline_profile_needs_set_points(tmp_path: Path) -> None:
    text = RIGHT.replace("    serial:", "    limits: {power_w: 1}\n    serial:")

    assert "the inline profile does not say" in message_of(tmp_path / "bench.yaml", text)


def test_the_error_survives_the_way_to_another_process() -> None:
    error = BenchFileError("bench.yaml", "is wrong", "write it right", line=3, key="visa")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made in the line above

    assert str(copy) == str(error) == "bench.yaml:3: visa: is wrong; write it right"


def test_a_profile_file_is_held_to_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("off: []\nofff: 1\n")

    with pytest.raises(BenchFileError) as caught:
        load_profile(path)

    assert (caught.value.line, caught.value.key) == (2, "offf")

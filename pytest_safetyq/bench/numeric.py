"""Numbers with units as SCPI instruments take them: ``5``, ``2.5E-3``, ``100 mV``, ``1MAA``."""

import math
import re

# <DECIMAL NUMERIC PROGRAM DATA> and <SUFFIX PROGRAM DATA>, IEEE 488.2-1992 7.7.2 and 7.7.3.
_DECIMAL = re.compile(
    r"(?P<mantissa>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[\x00-\x20]*[eE][\x00-\x20]*(?P<exponent>[+-]?[0-9]{1,6}))?"
    r"[\x00-\x20]*(?P<suffix>[A-Za-z]*)"
)
# Table 7-2 of the same. Suffixes are read in any case, so M is milli and MA is mega ...
_MULTIPLIERS = {
    "EX": 1e18,
    "PE": 1e15,
    "T": 1e12,
    "G": 1e9,
    "MA": 1e6,
    "K": 1e3,
    "": 1.0,
    "M": 1e-3,
    "U": 1e-6,
    "N": 1e-9,
    "P": 1e-12,
    "F": 1e-15,
    "A": 1e-18,
}
# ... except with these two of that table: MHZ and MOHM are mega.
_MEGA_UNITS = ("HZ", "OHM")
_UNITS = {
    "v": "V",
    "a": "A",
    "w": "W",
    "ohm": "OHM",
    "hz": "HZ",
    "s": "S",
    "c": "CEL",
    "k": "K",
    "pct": "PCT",
}


def unit_of(limit_key: str) -> str:
    """Return the unit that a limit key such as ``voltage_v`` ends with, as SCPI writes it.

    An ending that is not a unit known here gives ``""``: then only bare numbers count.
    """
    return _UNITS.get(limit_key.rpartition("_")[2], "")


def parse_number(text: str, unit: str) -> float | None:
    """Return the value of ``text`` in ``unit``, or ``None`` if it is not sure to be that.

    Args:
        text: One parameter of a command.
        unit: The unit as SCPI writes it, such as ``V``; ``""``: no suffix is allowed.

    Returns:
        A finite number, or ``None`` for ``MAX``, ``DEF``, ``#H10``, ``1E999``, a foreign
        unit, and everything else that only the instrument could tell the value of.
    """
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    multiplier = _multiplier(found["suffix"].upper(), unit)
    if multiplier is None:
        return None
    value = float(f"{found['mantissa']}e{found['exponent'] or 0}") * multiplier
    return value if math.isfinite(value) else None


def _multiplier(suffix: str, unit: str) -> float | None:
    if not suffix:
        return 1.0
    if not unit or not suffix.endswith(unit):
        return None
    prefix = suffix.removesuffix(unit)
    if prefix == "M" and unit in _MEGA_UNITS:
        return 1e6
    return _MULTIPLIERS.get(prefix)

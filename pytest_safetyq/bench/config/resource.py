"""Whether two resource names mean the same instrument, without loading PyVISA."""

import re

# VPP-4.3 4.3.1.1: what a short form leaves out is board 0 and INSTR. A serial port has no
# board; its name ("ASRL/dev/ttyUSB0") is a path, in which case matters on most systems.
_BOARDED = re.compile(r"(GPIB|TCPIP|USB|VXI|GPIB-VXI|PXI|PRLGX-TCPIP)(\d*)(::.*)\Z", re.DOTALL)


def same_resource_key(resource: str) -> str:
    """Return a key that is equal for two spellings of one resource name.

    ``GPIB::5``, ``gpib0::5::instr`` and ``GPIB0::5::INSTR`` have the same key. PyVISA's own
    parser (``pyvisa.rname``) knows more forms, but it takes PyVISA's import, which a bench
    file alone does not need; opening a resource twice is refused later in any case.
    """
    name = resource.strip().removesuffix("::")
    if not re.match(r"ASRL\s*/", name, re.IGNORECASE):
        name = name.upper()
    name = re.sub(r"::INSTR\Z", "", name, flags=re.IGNORECASE)
    boarded = _BOARDED.match(name)
    if boarded is None:
        return name
    interface, board, rest = boarded.groups()
    if interface == "TCPIP":
        # The LAN device name that VISA takes when none is given (VPP-4.3 4.3.1.1).
        rest = rest.removesuffix("::INST0")
    return f"{interface}{int(board or 0)}{rest}"

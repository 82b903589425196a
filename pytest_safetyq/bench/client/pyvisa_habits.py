"""What people try on a handle because PyVISA has it, and what they find here instead."""

_TERMINATOR = "terminators belong to the model: write_terminator and read_terminator in its profile"
_REPLY = "a reply is read with its command: query(), query_raw() or query_binary_values()"
_SERIAL = "the settings of a serial port belong to the bench file, under serial"
_OWNER = "the bench owns the session, and other tests use it"

INSTEAD = {
    "timeout": "a budget is given in seconds: timeout_s=... of the call, or timeout_s in the"
    " bench file",
    "query_delay": "gap_s in the profile is the least time between two commands",
    "read_termination": _TERMINATOR,
    "write_termination": _TERMINATOR,
    "read": _REPLY,
    "read_raw": _REPLY,
    "read_bytes": _REPLY,
    "read_ascii_values": _REPLY,
    "read_binary_values": _REPLY,
    "read_stb": "ask for it: query('*STB?')",
    "assert_trigger": "send it: write('*TRG')",
    "write_ascii_values": "write the values into the command",
    "write_binary_values": "write_raw() sends bytes as they are",
    "clear": "a link that is dirty is resynchronised by itself; with a device clear where the"
    " profile says device_clear",
    "close": f"{_OWNER}; it is closed at the end of the run, when it is off",
    "open": f"{_OWNER}; it is open",
    "lock": f"{_OWNER}; run_job() of the dispatcher fixture keeps others away meanwhile",
    "lock_excl": f"{_OWNER}; run_job() of the dispatcher fixture keeps others away meanwhile",
    "unlock": _OWNER,
    "session": _OWNER,
    "visalib": _OWNER,
    "baud_rate": _SERIAL,
    "data_bits": _SERIAL,
    "parity": _SERIAL,
    "stop_bits": _SERIAL,
    "flow_control": _SERIAL,
}


def hint(name: str) -> str:
    """Return what to do in place of using the attribute ``name``; empty: nothing is known."""
    return f"; {INSTEAD[name]}" if name in INSTEAD else ""

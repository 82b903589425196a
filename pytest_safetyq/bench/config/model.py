"""What a bench file and a profile say, as typed data.

The types carry their own rules (see `rules`): the reader, the error messages and the JSON
Schema are all made from this file. Times are in seconds. ``msgspec.Meta`` would be the
library's way to say the rules, but it crashes CPython 3.11 at exit (msgspec#717).
"""

from typing import Annotated, Literal

from msgspec import Struct

from pytest_safetyq.bench.config.answers import accepted, masked, without_prefix
from pytest_safetyq.bench.config.rules import Rule
from pytest_safetyq.bench.setpoints import SetpointPattern

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_-]*"
SOME_TEXT = r"[\s\S]*\S[\s\S]*"

Seconds = Annotated[float, Rule(what="a time in seconds, zero or more", example="0.02", least=0)]
Budget = Annotated[
    float, Rule(what="the budget of a transaction in seconds", example="0.2", above=0)
]
Command = Annotated[
    str, Rule(what="a command as it is sent", example='"OUTP OFF"', pattern=SOME_TEXT)
]
VisaLibrary = Annotated[
    str,
    Rule(what="a VISA library as PyVISA takes it", example='"@py"', pattern=SOME_TEXT),
]
Terminator = Annotated[
    str,
    # Single quotes leave "\n" as two characters: a backslash here is always that mistake.
    Rule(
        what="the characters in double quotes, where \\n counts as one",
        example='"\\r\\n"',
        pattern=r"[^\\]*",
    ),
]
LimitKey = Annotated[
    str,
    Rule(
        what="a quantity and its unit in lower case",
        example="voltage_v",
        pattern=r"[a-z][a-z0-9]*(_[a-z0-9]+)+",
    ),
]
Setpoint = Annotated[
    str,
    Rule(
        what="a command in SCPI notation",
        example='"[:SOURce[1]]:VOLTage[:LEVel]"',
        check=SetpointPattern,
    ),
]
Limit = (
    Annotated[float, Rule(what="a number above zero, or [low, high]", example="20", above=0)]
    | tuple[float, float]
)
"""A positive number ``x`` allows ``-x`` to ``x``; a pair allows low to high, ends included."""


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of an off sequence.

    In YAML a bare text stands for a step that is only sent.

    Attributes:
        send: The command, without terminator.
        reply: The instrument answers although the command asks nothing (TDK-Lambda answers
            ``OK`` to a setting), and the answer must be read. A command with a ``?`` is
            answered in any case.
    """

    send: Command
    reply: bool = False

    @classmethod
    def from_text(cls, text: str) -> "Step":
        """Return the step that a bare text in YAML stands for."""
        return cls(send=text)


class Confirm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How "off" is read back.

    Attributes:
        query: The question; its reply is always read, whether it has a ``?`` or not (TSP asks
            with ``print(...)``).
        accept: The answers that mean "off".
        prefix: What the reply begins with, in any case, before the answer itself (``STA:`` of
            ``STA: 1``); a reply that begins with anything else isn't "off".
        mask: The answer is a status number, decimal or hexadecimal (``0x31``), and only these
            of its bits are held against ``accept``.

    Raises:
        ValueError: There is a ``mask``, and an answer that is no number.
    """

    query: Annotated[
        str, Rule(what="the query that reads back", example='"OUTP?"', pattern=SOME_TEXT)
    ]
    accept: Annotated[
        tuple[
            Annotated[
                str,
                Rule(what="an answer", example="OFF", pattern=SOME_TEXT, as_written=True),
            ],
            ...,
        ],
        Rule(what="the answers that mean off", example="[0, OFF]", min_items=1),
    ]
    prefix: Annotated[
        str, Rule(what="what the reply begins with", example='"STA:"', pattern=SOME_TEXT)
    ] = ""
    mask: (
        Annotated[
            int,
            Rule(what="the bits that count, as a number", example="0x30", least=1),
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        never = [
            answer for answer in self.accept if self.mask and masked(answer, self.mask) is None
        ]
        if never:
            raise ValueError(
                f'"mask" with {never[0]} in "accept"; '
                "write what is left of the number, such as accept: [0]"
            )

    def accepts(self, reply: str) -> bool:
        """Return whether ``reply`` means "off"; see `answers.accepted`."""
        answer = without_prefix(reply, self.prefix)
        if answer is not None and self.mask is not None:
            answer = masked(answer, self.mask)
        return answer is not None and accepted(answer, self.accept)


class Identity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an instrument of this model says who it is.

    Attributes:
        query: The identification query (``*IDN?``: IEEE 488.2-1992 10.14).
        matches: Texts of which one must be in the reply, in any case; empty: any reply.
    """

    query: Command = "*IDN?"
    matches: tuple[
        Annotated[
            str,
            Rule(what="a part of the answer", example='"MODEL 2400"', pattern=SOME_TEXT),
        ],
        ...,
    ] = ()

    def matched_length(self, reply: str) -> int:
        """Return the length of the longest of ``matches`` in ``reply``; 0 if there is none."""
        text = reply.casefold()
        return max((len(part) for part in self.matches if part.casefold() in text), default=0)

    def fits(self, reply: str) -> bool:
        """Return whether ``reply`` comes from an instrument of this model."""
        return not self.matches or self.matched_length(reply) > 0


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    r"""What is known about an instrument model.

    Attributes:
        off: The off sequence, in order. Empty, together with no ``confirm``: there is
            nothing to switch off (a meter). It has no default, so that nobody says so by
            leaving it out.
        confirm: How "off" is read back; several, as where each channel is asked by itself:
            all must accept.
        settle_s: Time from the last step of ``off`` until the confirm query can be true.
        gap_s: Least time between two commands.
        device_clear: The instrument takes a device clear (IEEE 488.1 SDC, USBTMC
            INITIATE_CLEAR, VXI-11 device_clear) and is usable afterwards.
        interrupt: How a transaction in flight is broken off for a SAFETY command, where wire
            and backend have it: by an asynchronous device clear (HiSLIP), or by an abort
            (VXI-11 device_abort). The instrument must be usable afterwards.
        write_terminator: Ends every command; one of ``\n``, ``\r``, ``\r\n`` as a rule.
        read_terminator: Ends every reply.
        block_terminator: ``read_terminator`` also ends a definite length block (IEEE 488.2,
            8.7.9); only where the wire has no END (serial, socket). PyVISA's
            ``expect_termination``.
        identity: How the instrument says who it is; ``None``: it cannot.
        clients: How many sessions the instrument takes at a time over a network. With 2 or
            more, one is kept open for the off sequence alone: the express session.
        timeout_s: Default budget of a transaction; ``None``: the caller's default.
        attempts: How often the off sequence is tried before it counts as unconfirmed.
        setpoints: Per limit key the commands that set the quantity (see `limits`).

    Raises:
        ValueError: Only one of ``off`` and ``confirm`` is there.
    """

    off: Annotated[
        tuple[Step, ...],
        Rule(what="the commands that switch everything off", example='off: ["OUTP OFF"]'),
    ]
    confirm: (
        Confirm
        | Annotated[
            tuple[Confirm, ...],
            Rule(
                what="how off is read back",
                example='confirm: [{query: "OUTP1?", accept: [0]}]',
                min_items=1,
            ),
        ]
        | None
    ) = None
    settle_s: Seconds = 0.0
    gap_s: Seconds = 0.0
    device_clear: bool = False
    interrupt: Literal["none", "device_clear", "abort"] = "none"
    write_terminator: Terminator = "\n"
    read_terminator: Terminator = "\n"
    block_terminator: bool = True
    identity: Identity | None = Identity()
    clients: Annotated[
        int, Rule(what="how many sessions it takes, 1 or more", example="2", least=1, most=1000)
    ] = 1
    timeout_s: Budget | None = None
    attempts: Annotated[
        int, Rule(what="how often to try, from 1 to 100", example="3", least=1, most=100)
    ] = 3
    setpoints: dict[LimitKey, tuple[Setpoint, ...]] = {}

    def __post_init__(self) -> None:
        if self.off and self.confirm is None:
            raise ValueError(
                '"off" without "confirm"; write how off is read back, '
                'such as confirm: {query: "OUTP?", accept: [0, OFF]}'
            )
        if self.confirm is not None and not self.off:
            raise ValueError(
                '"confirm" without "off"; write what switches it off, such as off: ["OUTP OFF"]'
            )

    @property
    def confirms(self) -> tuple[Confirm, ...]:
        """Everything that must read back as "off"; empty where there is nothing to switch off."""
        if self.confirm is None:
            return ()
        return self.confirm if isinstance(self.confirm, tuple) else (self.confirm,)


class SerialConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The serial port, in PyVISA's words; the defaults are VISA's (VPP-4.3, ASRL attributes).

    Attributes:
        baud_rate: Bits per second.
        data_bits: Bits per character.
        parity: A name of ``pyvisa.constants.Parity``.
        stop_bits: A name of ``pyvisa.constants.StopBits``.
        flow_control: A name of ``pyvisa.constants.ControlFlow``.
    """

    baud_rate: Annotated[
        int, Rule(what="the speed in bits per second", example="9600", least=1)
    ] = 9600
    data_bits: Annotated[
        int, Rule(what="the bits per character, from 5 to 8", example="8", least=5, most=8)
    ] = 8
    parity: Literal["none", "odd", "even", "mark", "space"] = "none"
    stop_bits: Literal["one", "one_and_a_half", "two"] = "one"
    flow_control: Literal["none", "xon_xoff", "rts_cts", "dtr_dsr"] = "none"


class InstrumentConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One instrument of the bench.

    Attributes:
        resource: The PyVISA resource name, as it was written.
        model: A shipped profile's name, or the path of a profile file.
        profile: Written in place, or filled in from ``model`` by `load_bench`. ``None``:
            it is chosen by the instrument's answer to ``*IDN?`` when it is opened.
        timeout_s: Default budget of a transaction; it wins over the profile's.
        limits: Per quantity what the tests may set.
        serial: Settings of a serial port; ``None``: VISA's defaults.
        visa: The VISA library, as PyVISA takes it; it wins over the bench's.
        link: What makes the link, if it is neither PyVISA's nor ours.
    """

    resource: Annotated[
        str,
        Rule(what="a PyVISA resource name", example="GPIB0::24::INSTR", pattern=SOME_TEXT),
    ]
    model: (
        Annotated[
            str,
            Rule(
                what="a shipped profile or the path of your own",
                example="keithley-2400 or profiles/mine.yaml",
                pattern=SOME_TEXT,
            ),
        ]
        | None
    ) = None
    profile: Profile | None = None
    timeout_s: Budget | None = None
    limits: dict[LimitKey, Limit] = {}
    serial: SerialConfig | None = None
    visa: VisaLibrary | None = None
    link: (
        Annotated[
            str,
            Rule(
                what="what makes the link, as package.module:factory",
                example="my_links:relay_matrix",
                pattern=r"[A-Za-z_][\w.]*:[A-Za-z_]\w*",
            ),
        ]
        | None
    ) = None


class BenchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bench file.

    Attributes:
        visa: The VISA library for all instruments, as PyVISA takes it.
        instruments: The instruments by name, in the order of the file.
    """

    visa: VisaLibrary | None = None
    instruments: Annotated[
        dict[
            Annotated[
                str,
                Rule(
                    what="a name of letters, digits, _ and -, not beginning with a digit",
                    example="smu",
                    pattern=NAME_PATTERN,
                ),
            ],
            InstrumentConfig,
        ],
        Rule(
            what="at least one instrument",
            example="instruments: {smu: {resource: GPIB0::24::INSTR}}",
            min_items=1,
        ),
    ]

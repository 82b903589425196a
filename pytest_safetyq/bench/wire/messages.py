"""The messages. Requests carry an ``id``; exactly one `Done` or `Failed` answers each.

A request that isn't answered at once is acknowledged at once, with `Admitted`, `Working` or
`JobGranted`: a client that hears neither knows that the supervisor doesn't answer.

Everything is data of known types, decoded by msgspec: nothing that arrives is ever executed,
and a message that doesn't fit its type is refused as a whole.
"""

from typing import Any

from msgspec import Struct

from pytest_safetyq.bench.config import Profile, SerialConfig
from pytest_safetyq.scheduling import Priority

PROTOCOL = 2


class Message(Struct, frozen=True, kw_only=True, tag=True, forbid_unknown_fields=True):
    """Base of all messages."""


class InstrumentSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the supervisor needs to open an instrument.

    Attributes:
        name: Its name on the bench.
        resource: Its VISA resource name, canonical.
        library: The VISA library, as PyVISA takes it; empty: PyVISA's choice.
        model: Name of the profile; None: by its identity.
        profile: The profile; None: by its identity.
        timeout_s: Default budget of a transaction, or None.
        limits: Per quantity what may be set.
        serial: Settings of a serial port, or None.
        link: What makes its link, as ``module:factory``, or None.
        folder: Where that module is looked for besides: the folder of the bench file.
    """

    name: str
    resource: str
    library: str = ""
    model: str | None = None
    profile: Profile | None = None
    timeout_s: float | None = None
    limits: dict[str, float | tuple[float, float]] = {}
    serial: SerialConfig | None = None
    link: str | None = None
    folder: str | None = None

    @property
    def simulated(self) -> bool:
        """Whether this is a simulation and no hardware."""
        return self.library.endswith("@sim")


class OpenedInstrument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of an instrument once it is open.

    Attributes:
        name: Its name on the bench.
        resource: Its VISA resource name.
        library: The VISA library.
        model: The name of its profile.
        identity: What it answered to the identification query.
        simulated: Whether this is a simulation and no hardware.
        timeout_s: The default budget of a transaction.
        recovery_s: For how long restoring its link may hold up a transaction.
        write_terminator: What a message ends with.
    """

    name: str
    resource: str
    library: str
    model: str
    identity: str
    simulated: bool
    timeout_s: float
    recovery_s: float
    write_terminator: bytes


class DispatcherState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A look at one dispatcher."""

    running_priority: Priority | None
    pending_by_priority: dict[int, int]
    dwell_s: dict[int, float]
    latched: bool
    coalesced: int
    discarded_replies: int
    worst_case_s: dict[int, float]


class Request(Message, frozen=True, kw_only=True):
    """Base of what a client asks for."""

    id: int


class Hello(Request, frozen=True, kw_only=True):
    """The first message of a connection; nothing else is read before it is accepted.

    Attributes:
        token: The secret of the run directory.
        protocol: The version of this language.
        who: The client, for messages.
        guest: A guest may come and go; the end of any other connection is the alarm.
    """

    token: str
    protocol: int
    who: str
    guest: bool = False


class Open(Request, frozen=True, kw_only=True):
    """Open an instrument; answered with `OpenedInstrument`."""

    spec: InstrumentSpec


class Submit(Request, frozen=True, kw_only=True):
    """Submit one command; answered with the reply, after `Admitted`."""

    instrument: str
    cmd_id: str
    payload: bytes
    raw: bool
    priority: Priority
    timeout_s: float | None
    expect_reply: bool | None
    submitted_s: float


class Cancel(Message, frozen=True, kw_only=True):
    """Nobody waits for this request any more."""

    id: int


class Abort(Request, frozen=True, kw_only=True):
    """Cancel waiting commands; answered with how many."""

    instrument: str
    below: Priority


class Trip(Request, frozen=True, kw_only=True):
    """Flush and latch one dispatcher; answered with how many were flushed."""

    instrument: str
    reason: str


class Rearm(Request, frozen=True, kw_only=True):
    """Release the latch of all instruments whose safe state is confirmed."""

    reason: str


class EStop(Request, frozen=True, kw_only=True):
    """Trip, and drive everything that is open to its safe state; answered with `EStopReport`.

    Attributes:
        reason: Why.
        submitted_s: When it was asked for, monotonic.
    """

    reason: str
    submitted_s: float


class State(Request, frozen=True, kw_only=True):
    """Answered with `DispatcherState`."""

    instrument: str


class Records(Request, frozen=True, kw_only=True):
    """Answered with a list of `TransactionRecord`.

    Attributes:
        instrument: Its history; None: those of the current test, of all instruments.
    """

    instrument: str | None = None


class TakeEStops(Request, frozen=True, kw_only=True):
    """Answered with a list of `EStopReport`: those that this client has not taken yet.

    All of them, whoever asked: a test, a watch, another terminal.
    """


class BeginTest(Request, frozen=True, kw_only=True):
    """The records of the current test begin here."""

    test: str


class StartStream(Request, frozen=True, kw_only=True):
    """Send ``command`` every ``every_s`` seconds; its replies come as `StreamReply`."""

    instrument: str
    command: str
    every_s: float


class StopStream(Request, frozen=True, kw_only=True):
    """End the stream that the request ``stream`` started."""

    stream: int


class BeginJob(Request, frozen=True, kw_only=True):
    """Borrow the link; `JobGranted` says when, `Done` or `Failed` how it ended."""

    instrument: str
    name: str
    priority: Priority
    timeout_s: float | None


class JobTransaction(Request, frozen=True, kw_only=True):
    """One transaction of the job; answered with the reply."""

    job: int
    payload: bytes
    timeout_s: float
    expect_reply: bool | None


class EndJob(Message, frozen=True, kw_only=True):
    """The job has ended."""

    job: int


class Probe(Request, frozen=True, kw_only=True):
    """Answered with `LatencyStats`."""

    instrument: str
    samples: int
    backlog: int
    command: str | None


class ListResources(Request, frozen=True, kw_only=True):
    """Answered with the resource names that a VISA library finds."""

    library: str


class Echo(Request, frozen=True, kw_only=True):
    """Answered at once with nothing: whether there is still somebody who answers."""


class ListOpened(Request, frozen=True, kw_only=True):
    """Answered with a list of `OpenedInstrument`."""


class Goodbye(Request, frozen=True, kw_only=True):
    """Drive everything to its safe state and leave; answered with `EStopReport`."""

    submitted_s: float


class Admitted(Message, frozen=True, kw_only=True):
    """The command of this request is enqueued."""

    id: int


class Working(Message, frozen=True, kw_only=True):
    """This request is being worked on.

    Attributes:
        id: The request.
        within_s: Seconds in which it is answered at the worst; None: nobody can say, as it
            waits for others.
    """

    id: int
    within_s: float | None


class JobGranted(Message, frozen=True, kw_only=True):
    """The job has the link."""

    id: int


class StreamReply(Message, frozen=True, kw_only=True):
    """One reply of a stream, or why it ended."""

    stream: int
    reply: str = ""
    kind: str = ""
    error: str | None = None


class Done(Message, frozen=True, kw_only=True):
    """The answer to a request."""

    id: int
    value: Any = None


class Failed(Message, frozen=True, kw_only=True):
    """A request came to nothing.

    Attributes:
        id: The request.
        kind: Name of the exception.
        message: Its text.
    """

    id: int
    kind: str
    message: str


ToSupervisor = (
    Hello
    | Open
    | Submit
    | Cancel
    | Abort
    | Trip
    | Rearm
    | EStop
    | State
    | Records
    | BeginTest
    | TakeEStops
    | StartStream
    | StopStream
    | BeginJob
    | JobTransaction
    | EndJob
    | Probe
    | ListResources
    | Echo
    | ListOpened
    | Goodbye
)
ToClient = Admitted | Working | JobGranted | StreamReply | Done | Failed

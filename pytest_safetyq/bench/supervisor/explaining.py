"""What a test is told when a command comes to nothing: which one, where, and what to do."""

from pytest_safetyq.bench.supervisor.instrument import OwnedInstrument
from pytest_safetyq.bench.wire.failures import kind_of, text_of
from pytest_safetyq.bench.wire.messages import Failed
from pytest_safetyq.dispatcher.payload import in_words
from pytest_safetyq.errors import EStopLatched, LimitExceeded, SafetyError
from pytest_safetyq.scheduling import LatchState


def failed(
    request: int, instrument: OwnedInstrument, payload: bytes, error: BaseException
) -> Failed:
    """Return what the client is told of ``error``, in which ``payload`` has ended."""
    return Failed(id=request, kind=kind_of(error), message=explained(instrument, payload, error))


def explained(instrument: OwnedInstrument, payload: bytes, error: BaseException) -> str:
    """Return the text of ``error``, with instrument and command, and how to go on."""
    text = text_of(error)
    if not isinstance(error, SafetyError):
        return text  # a wrong argument, which speaks for itself
    if isinstance(error, EStopLatched):
        text = f"{text}; {_way_on(instrument)}"
    shown = in_words(payload)
    if shown not in text and not isinstance(error, LimitExceeded):  # which names its part of it
        text = f"{shown}: {text}"
    return text if text.startswith(f"{instrument.name}") else f"{instrument.name}: {text}"


def _way_on(instrument: OwnedInstrument) -> str:
    if instrument.dispatcher.latch.state is LatchState.TRIPPED:
        return "off is not confirmed yet: estop() switches off and says whether it is"
    return (
        "its output is off already (CONFIRMED), and the next test begins rearmed;"
        " to go on in this one: safety.rearm(reason)"
    )

"""The instrument model as the wires need it."""

from __future__ import annotations

from dataclasses import dataclass

from sim_instruments.model.instrument import Instrument
from sim_instruments.model.scpi_errors import INPUT_BUFFER_OVERRUN


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """See `sim_instruments.device.Response`."""

    reply: str | None
    takes_s: float
    lost: bool = False


class ModelDevice:
    """An `Instrument` with the few things that it does not offer yet.

    Args:
        instrument: what executes the messages.
    """

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument

    @property
    def client_limit(self) -> int | None:
        """How many clients it takes at a time, `None` for any number."""
        return None

    def execute(
        self, message: bytes, *, reply_waiting: bool = False, now_s: float | None = None
    ) -> ModelResponse:
        """Execute one program message without its terminator."""
        del now_s
        answer = self._instrument.execute(message, reply_waiting=reply_waiting)
        return ModelResponse(answer.reply, answer.takes_s)

    def overrun(self) -> None:
        """Note that a message was too long for the input buffer (-363)."""
        self._instrument.status.record(INPUT_BUFFER_OVERRUN)

    def interrupted(self) -> None:
        """Note that a message came before the reply to the last was read (-410)."""

    def unterminated(self) -> None:
        """Note that a reply was read for which nothing had asked (-420)."""

    def device_clear(self) -> None:
        """A device clear changes no setting (IEEE 488.2, 5.8)."""

    def status_byte(self, reply_waiting: bool) -> int:
        """The status byte as a serial poll reads it (IEEE 488.2, 11.2)."""
        self._instrument.status.reply_waiting = reply_waiting
        return self._instrument.status.status_byte()

    def output(self) -> dict[str, bool]:
        """Whether each output is on, by channel name; empty without outputs."""
        return self._instrument.output()

    def set_trait(self, name: str, value: object) -> None:
        """Refuse: traits are fixed."""
        raise ValueError(f"the trait {name!r} cannot be set to {value!r} while it runs")

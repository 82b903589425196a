"""Futures of replies: as text, and in an event loop."""

import asyncio
import concurrent.futures
from typing import Any, TypeVar

from pytest_safetyq.bench.client.answer import Answer
from pytest_safetyq.bench.client.handle import text_of

T = TypeVar("T")


class TextReply(concurrent.futures.Future[str]):
    """The text of a reply that comes as bytes; cancelling it cancels the command.

    Args:
        answer: The future of the reply as bytes.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        answer.add_done_callback(self._settle)

    def cancel(self) -> bool:
        """Cancel the command, if it still waits; SAFETY is sent all the same."""
        return self._answer.cancel()

    def _settle(self, answer: concurrent.futures.Future[Any]) -> None:
        if answer.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
        elif (error := answer.exception()) is not None:
            self.set_exception(error)
        else:
            self.set_result(text_of(answer.result()))


async def admitted(answer: Answer) -> None:
    """Wait until the supervisor has accepted the request; cancelled, withdraw it.

    Raises:
        SafetyError: It was not accepted.
    """
    try:
        await asyncio.wrap_future(answer.admitted)
    except asyncio.CancelledError:
        answer.cancel()
        raise


def in_this_loop(future: concurrent.futures.Future[T]) -> asyncio.Future[T]:
    """Return ``future`` as one of the running loop; an error that nobody awaits is silent.

    A flush fails hundreds of futures whose owners are long gone.
    """
    wrapped = asyncio.wrap_future(future)
    wrapped.add_done_callback(_retrieve)
    return wrapped


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()

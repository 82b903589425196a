"""The dispatcher: the one owner of a link, which runs what the scheduler picked."""

from pytest_safetyq.dispatcher.dispatcher import SafetyAwareDispatcher
from pytest_safetyq.dispatcher.payload import asks_question

__all__ = ["SafetyAwareDispatcher", "asks_question"]

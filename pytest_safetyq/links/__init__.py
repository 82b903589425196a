"""Links: one open path to an instrument each, bytes out and bytes in.

`VisaLink` is in ``pytest_safetyq.links.visa``, so that whoever brings a link of their own
doesn't import PyVISA.
"""

from pytest_safetyq.links.callbacks import CallbackLink
from pytest_safetyq.links.protocol import (
    DeadlineLink,
    InstrumentLink,
    InterruptibleLink,
    Link,
    RawBytes,
)
from pytest_safetyq.links.scripted import ScriptedLink, SentMessage

__all__ = [
    "CallbackLink",
    "DeadlineLink",
    "InstrumentLink",
    "InterruptibleLink",
    "Link",
    "RawBytes",
    "ScriptedLink",
    "SentMessage",
]

"""Which faults strike a message. Decides only: the wires carry it out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sim_instruments.faults.effect import UNHARMED, Effect
from sim_instruments.faults.rule import Rule

GARBAGE_BYTES = 8
DEFAULT_S = {"delay": 0.1, "trickle": 0.01, "fragment": 0.001}


@dataclass(slots=True)
class _Standing:
    """A rule in force, and how many matching messages it has seen and struck."""

    rule: Rule
    seen: int = 0
    struck: int = 0

    @property
    def is_spent(self) -> bool:
        return self.rule.count is not None and self.struck >= self.rule.count


class FaultPlan:
    """The faults of one instrument.

    The same rules, messages and generator give the same faults.

    Args:
        generator: where chance and garbage come from.
    """

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._standing: list[_Standing] = []

    @property
    def rules(self) -> list[Rule]:
        """The rules that may strike yet, in the order they were added."""
        return [standing.rule for standing in self._standing]

    def add(self, rule: Rule) -> None:
        """Put a rule in force, beside those that are."""
        self._standing.append(_Standing(rule))

    def clear(self) -> None:
        """Lift every rule."""
        self._standing.clear()

    def seed(self, seed: str) -> None:
        """Begin chance anew."""
        self._generator.seed(seed)

    def decide(self, message: bytes) -> Effect:
        """Decide what strikes a program message; count it."""
        if not self._standing:
            return UNHARMED
        text = message.decode("latin-1")
        effect = UNHARMED
        for rule in self._striking(text, lock=False):
            effect = self._added(effect, rule)
        return effect

    def lock_outlives_its_client(self) -> bool:
        """Decide whether the lock of a client that died stays (the kind `sticky_lock`)."""
        return any([*self._striking("", lock=True)])

    def _striking(self, text: str, *, lock: bool) -> Iterable[Rule]:
        for standing in list(self._standing):
            rule = standing.rule
            if (rule.kind == "sticky_lock") != lock:
                continue
            if not lock and not re.search(rule.pattern, text, re.IGNORECASE):
                continue
            standing.seen += 1
            if standing.seen <= rule.skip:
                continue
            if rule.rate < 1 and self._generator.random() >= rule.rate:
                continue
            standing.struck += 1
            if standing.is_spent:
                self._standing.remove(standing)
            yield rule

    def _added(self, effect: Effect, rule: Rule) -> Effect:
        seconds = DEFAULT_S.get(rule.kind, 0.0) if rule.seconds is None else rule.seconds
        match rule.kind:
            case "delay":
                return replace(effect, delay_s=effect.delay_s + seconds)
            case "trickle":
                return replace(effect, piece_size=1, piece_gap_s=seconds)
            case "fragment":
                return replace(effect, piece_size=rule.size, piece_gap_s=seconds)
            case "garbage":
                data = bytes.fromhex(rule.data) or self._generator.randbytes(GARBAGE_BYTES)
                return replace(effect, garbage=effect.garbage + data)
            case "no_reply":
                return replace(effect, no_reply=True)
            case "sticky_lock":
                raise AssertionError("a lock is no message")
            case kind:
                return replace(effect, happenings=(*effect.happenings, (kind, rule.seconds)))

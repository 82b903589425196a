"""Faults on demand: how they are asked for, and which strike a message."""

from sim_instruments.faults.effect import UNHARMED, Effect, Happening, Lasting
from sim_instruments.faults.plan import FaultPlan
from sim_instruments.faults.rule import Kind, Rule

__all__ = ["UNHARMED", "Effect", "FaultPlan", "Happening", "Kind", "Lasting", "Rule"]

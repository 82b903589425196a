"""Simulated laboratory instruments, described in YAML and spoken to in SCPI."""

from sim_instruments.entry import BENCH_YAML, install, resources
from sim_instruments.witness import WITNESS_VARIABLE, WitnessEntry, read_witness

__all__ = [
    "BENCH_YAML",
    "WITNESS_VARIABLE",
    "WitnessEntry",
    "install",
    "read_witness",
    "resources",
]

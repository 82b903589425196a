"""The bench file and the model profiles: their types, and how they are read."""

from pytest_safetyq.bench.config.errors import BenchFileError
from pytest_safetyq.bench.config.load import load_bench, load_profile
from pytest_safetyq.bench.config.model import (
    BenchConfig,
    Confirm,
    Identity,
    InstrumentConfig,
    Limit,
    Profile,
    SerialConfig,
    Step,
)
from pytest_safetyq.bench.config.schema import bench_schema, schema_text

__all__ = [
    "BenchConfig",
    "BenchFileError",
    "Confirm",
    "Identity",
    "InstrumentConfig",
    "Limit",
    "Profile",
    "SerialConfig",
    "Step",
    "bench_schema",
    "load_bench",
    "load_profile",
    "schema_text",
]

"""The way in. Importing this file is cheap: what is heavy is imported by the call that needs it."""

# ruff: noqa: PLC0415 - `import sim_instruments` must not cost an import of PyVISA.

from __future__ import annotations

from pathlib import Path

BENCH_YAML: Path = Path(__file__).with_name("bench.yaml")
"""The bundled bench: `smu`, `supply`, `dmm` and `load` at `GPIB0::5` to `GPIB0::8`.

PyVISA caches a bench, its state included, by path: for fresh instruments open a fresh copy.
"""


def install() -> None:
    """Let `pyvisa.ResourceManager("<path>.yaml@sim")` of this process build our instruments.

    Calling it again changes nothing. Devices without a `scpi` key stay pyvisa-sim's own.

    Raises:
        RuntimeError: pyvisa-sim lacks a name that the adapter relies on.
    """
    from sim_instruments import pyvisa_sim_adapter

    pyvisa_sim_adapter.install()


def resources(path: str | Path) -> list[str]:
    """Check a bench file and name its resources, opening nothing.

    Args:
        path: a YAML file in pyvisa-sim's format, with or without our extra keys.

    Returns:
        The canonical resource names (VPP-4.3, 4.3.1), in the order of the file.

    Raises:
        ValueError: in one line, what is wrong with the file and where.
        OSError: the file cannot be read.
    """
    from sim_instruments import bench_file

    return bench_file.resources(path)

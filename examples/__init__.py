"""Examples: real tests, run on the simulated bench by ``make demo`` and by ``make test``."""

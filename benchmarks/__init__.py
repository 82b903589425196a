"""Benchmarks: figures, most of them ratios of things measured side by side in one run."""

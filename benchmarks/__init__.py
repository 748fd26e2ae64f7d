"""Measurements of speed, printed as Markdown tables: `make bench`, or `python -m benchmarks`."""

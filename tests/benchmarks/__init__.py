"""Benchmarks: `python -m tests.benchmarks` prints a table. Not part of the test run."""

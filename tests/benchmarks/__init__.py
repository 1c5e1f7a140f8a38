"""Benchmarks: `python -m tests.benchmarks` prints a table. Not part of the test run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))  # where pytest finds what the tests share

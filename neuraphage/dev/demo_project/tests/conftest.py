"""Notes each start of the test run, so that anyone can count how often it was started."""

import os
import pathlib


def pytest_sessionstart(session):
    with (pathlib.Path(__file__).parent.parent / "test-runs.log").open("a") as log:
        log.write(f"started by process {os.getpid()}\n")

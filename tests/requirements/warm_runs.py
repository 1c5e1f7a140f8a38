"""Runs the test of each bug or guard that is named, in a process of its own that finds the libraries loaded.

`python warm_runs.py FOLDER SECONDS ROW...` writes what each run printed to `FOLDER/ROW`, and its exit code to
`FOLDER/ROW.code`. Of neuraphage nothing is loaded before the fork: each run compiles its own.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from bugs import BUGS
from every_guard import GUARDS

SPARED = ("anyio", "unraisableexception")
"""Plugins that such a run has no use for; the second one collects garbage five times at the end."""
LIBRARIES = ("anthropic", "celery.app", "fakeredis", "hypothesis.stateful", "kombu.transport.redis", "redis", "typer")
"""Most of the time of such a run, if each loads them itself."""


def load() -> None:
    """Load what every run needs."""
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    ours = [name for name in sys.modules if name.partition(".")[0] == "neuraphage"]
    assert not ours, f"loaded before a bug is put back: {ours}"


def run(row: str, test: str, limit_s: str, folder: Path) -> int:
    """Run one test in a fork, with the bug in the product; return its exit code, or minus a signal."""
    pid = os.fork()
    if pid == 0:
        told = os.open(folder / row, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(told, 1)
        os.dup2(told, 2)
        os.environ["PUT_BACK"] = row
        options = ["-p", "put_back", "-n", "0", "--force-reruns", "0", "-x", "--timeout", limit_s, "--tb", "native"]
        for name in SPARED:
            options += ["-p", f"no:{name}"]
        code = int(pytest.main([*options, test]))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(folder: Path, limit_s: str, rows: list[str]) -> None:
    """Run the tests of these rows one after the other."""
    load()
    tests = {bug.row: bug.test for bug in (*BUGS, *GUARDS)}
    for row in rows:
        (folder / f"{row}.code").write_text(str(run(row, tests[row], limit_s, folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])

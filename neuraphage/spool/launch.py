"""Starting a runner: a process of its own session, with nothing of ours but the order."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from neuraphage.errors import SpoolError
from neuraphage.proc import own_session

RUNNER = Path(__file__).with_name("runner.py")
_ANSWER_MAX_BYTES = 65_536


def launch(runner: Path, order: bytes, timeout_s: float) -> str:
    """Start a runner and wait for its answer.

    Args:
        runner: the program.
        order: from records.pack_order.
        timeout_s: longest wait for the answer, in seconds.

    Returns:
        Its answer, see runner.py; empty when it died or did not answer in time.

    Raises:
        SpoolError: the process could not be started.
    """
    try:
        with tempfile.TemporaryFile() as stdin:  # unlinked and ours alone: the order holds the environment
            stdin.write(order)
            stdin.seek(0)
            process = own_session.start(  # our own program; the command goes through its input
                [sys.executable, "-I", "-S", str(runner)],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=own_session.bare_environment(),
            )
    except OSError as error:
        raise SpoolError(
            f"cannot start a process for the command: {error.strerror}; check free memory, the limit of"
            f" processes and the space in {tempfile.gettempdir()}"
        ) from error
    # the runner outlives this call; somebody must collect it when it ends
    with suppress(RuntimeError):  # no thread is to be had: the next Popen collects it, and the command goes on
        threading.Thread(target=process.wait, name="spool-reaper", daemon=True).start()
    assert process.stdout is not None  # noqa: S101 - PIPE was asked for
    with process.stdout as pipe:
        return _read_answer(pipe, time.monotonic() + timeout_s)


def _read_answer(pipe: IO[bytes], deadline_s: float) -> str:
    """Read to the end of the pipe, or until the deadline (monotonic seconds)."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    answer = b""
    while len(answer) < _ANSWER_MAX_BYTES:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            return ""
        piece = os.read(pipe.fileno(), 4096)
        if not piece:
            break
        answer += piece
    return answer.decode(errors="replace").strip()

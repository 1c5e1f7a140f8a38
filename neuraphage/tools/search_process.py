"""Run the search child: bounded in time, stopped by the interrupt, gone before the call returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuraphage.ports import Interrupt
from neuraphage.proc import own_session
from neuraphage.tools.base import ToolCallError

_CHILD = str(Path(__file__).with_name("search_child.py"))
# No user input is in it; nothing of the worker's own environment (keys) is handed on.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}


def run_search(request: Mapping[str, Any], timeout_s: float, interrupt: Interrupt) -> dict[str, Any]:
    """Hand a request to a child process and wait for its answer.

    Args:
        request: what `search_child.py` reads.
        timeout_s: it is killed after this.
        interrupt: kills it, too.

    Raises:
        ToolCallError: it took too long, failed, or found the request wrong.
        CancelRequested, LeaseLost: from the interrupt, after the child is gone.
    """
    full = {**request, "timeout_s": timeout_s, "parent_pid": os.getpid()}
    interrupt.check()
    try:
        child = own_session.start(
            [sys.executable, "-I", "-S", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
    except OSError as error:
        raise ToolCallError(
            f"The search could not be started ({error.strerror}). Try again, or search with run_command."
        ) from error
    unsubscribe = interrupt.subscribe(lambda: kill_group(child))
    try:
        answer, _ = child.communicate(json.dumps(full).encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ToolCallError(
            f"The search was stopped after {timeout_s:g} s: the pattern may be too slow (nested repeats such"
            " as (a+)+ are), or the"
            " place too large. Use a simpler pattern or a smaller path."
        ) from error
    finally:
        unsubscribe()
        kill_group(child)
        child.communicate()
    interrupt.check()
    return _read(answer, child.returncode)


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a child that leads its own process group, with all of the group."""
    if child.poll() is None:
        own_session.kill_group(child.pid)


def _read(answer: bytes, returncode: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise ToolCallError(
            f"The search process ended without an answer (status {returncode}). Use a simpler pattern or a"
            " smaller path."
        ) from error
    if "error" in found:
        raise ToolCallError(f"The search failed: {found['error']}. Correct the call and try again.")
    return found

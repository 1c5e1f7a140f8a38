"""Hooks of stack tests: a guard that changes each charge, and an observer that waits to be killed or let go."""

from __future__ import annotations

import os
import time
from pathlib import Path

from neuraphage.hooks import Observed, PreToolUse, Verdict, change, guard, observer
from patience import PATIENCE_S

FOLDER = "OWN_HOOKS_FOLDER"


def written(name: str, line: str) -> None:
    """Write a line down where the test looks."""
    with (Path(os.environ[FOLDER]) / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@guard("PreToolUse")
def cheaper(call: PreToolUse) -> Verdict | None:
    """Half of the price, each time that it is asked."""
    written("asked", f"{call.tool_use_id} {call.recovered}")
    return change(params={**call.params, "cents": int(call.params["cents"]) // 2})


@observer("TaskCompleted", timeout_s=60)
def announce(event: Observed) -> None:
    """Tells, and returns once it may."""
    written("told", f"{event.event_id} {event.recovered}")
    deadline_s = time.monotonic() + min(50.0, PATIENCE_S)
    while not (Path(os.environ[FOLDER]) / "go").exists() and time.monotonic() < deadline_s:
        time.sleep(0.02)


mine = [cheaper, announce]

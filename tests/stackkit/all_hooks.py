"""A guard at each point of guards, and an observer of each point of observers, for real workers.

A guard judges a task that is named for it, as `PreToolUse change before`: what it says, and on which side of the write
that stores its verdict the process is killed. An observer kills its process, with SIGKILL, the first time that it is
told.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neuraphage.hooks import Observed, Verdict, answer, block, change, guard, observer
from neuraphage.hooks.declaring import Hook
from neuraphage.model.event import RESERVED
from neuraphage.model.hook import OBSERVER_POINTS, HookPoint
from neuraphage.model.hook_payload import GIVEN, Payload

FOLDER = "ALL_HOOKS_FOLDER"
SAID: Mapping[HookPoint, Mapping[str, Verdict]] = {
    HookPoint.PRE_CONTEXT_ASSEMBLY: {"change": change(text="Mind the gap.")},
    HookPoint.POST_CONTEXT_ASSEMBLY: {"change": change(system="Be brief.")},
    HookPoint.PRE_LLM_CALL: {"change": change(max_tokens=777), "answer": answer("From the cache.")},
    HookPoint.POST_LLM_CALL: {"change": change(text="other words")},
    HookPoint.PRE_TOOL_USE: {
        "change": change(params={"command": "echo changed >> log.txt"}),
        "answer": answer("From a guard."),
    },
    HookPoint.POST_TOOL_USE: {"change": change(text="a shorter result")},
    HookPoint.PRE_USER_PROMPT: {"change": change(text="Which colour?"), "answer": answer("blue, says a guard")},
    HookPoint.POST_USER_INPUT: {"change": change(text="in other words")},
    HookPoint.LOOP_ITERATION: {"change": change(text="Run the tests first.")},
    HookPoint.SECURITY_POLICY_CHECK: {},
    HookPoint.PERMISSION_REQUEST: {"answer": answer("yes")},
}
"""What guards say beside a block: each kind that their point knows."""
CASES = tuple((point, verdict) for point, said in SAID.items() for verdict in ("block", *said))
FIRED = tuple(point for point in OBSERVER_POINTS if point.value not in {kind.value for kind in RESERVED})
ONCE_A_TURN = frozenset(
    {
        HookPoint.PRE_CONTEXT_ASSEMBLY,
        HookPoint.POST_CONTEXT_ASSEMBLY,
        HookPoint.PRE_LLM_CALL,
        HookPoint.POST_LLM_CALL,
        HookPoint.LOOP_ITERATION,
    }
)
"""Points that each turn meets: the first one is judged."""
ANSWERED = "mine"
"""What the person answers; other words of theirs are not judged."""
armed: dict[str, str] = {}
"""Task and side of the next write of this process that is to be its last act."""


def written(name: str, line: str) -> None:
    """Write a line down where the test looks."""
    with (Path(os.environ[FOLDER]) / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def first_time(what: str) -> bool:
    """Whether this is asked for the first time, of all processes."""
    try:
        (Path(os.environ[FOLDER]) / f"died {what}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def die() -> None:
    """The end of this process, at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def _guard(point: HookPoint) -> Hook:
    def judge(payload: Payload) -> Verdict | None:
        wanted, _, rest = payload.task_name.partition(" ")
        is_later = point in ONCE_A_TURN and payload.turn > 0
        is_other = point is HookPoint.POST_USER_INPUT and getattr(payload, "text", "") != ANSWERED
        if wanted != point.value or is_later or is_other:
            return None
        verdict, _, side = rest.partition(" ")
        written(f"asked {payload.task_name}", str(payload.recovered))
        armed[payload.task_id] = side
        return SAID[point].get(verdict) or block("not today")

    return guard(point.value, name=f"at-{point.value}")(judge)


def _observer(point: HookPoint) -> Hook:
    def told(event: Observed) -> None:
        written(f"told {point.value}", f"{event.event_id} {event.recovered}")
        if first_time(point.value):
            die()

    return observer(point.value, name=point.value)(told)


def mortal(write: Callable[..., Any]) -> Callable[..., Any]:
    """A write of turns that is its process's last act, or comes too late for it, where a guard has said so."""

    def wrapped(store: Any, lease: Any, *rest: Any, **more: Any) -> Any:
        side = armed.pop(lease.task_id, "")
        if side == "before" and first_time(lease.task_id):
            die()
        result = write(store, lease, *rest, **more)
        if side == "after" and first_time(lease.task_id):
            die()
        return result

    return wrapped


guards = [_guard(point) for point in GIVEN]
observers = [_observer(point) for point in FIRED]

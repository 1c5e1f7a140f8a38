"""The task of the crash suite: its script, and test tools of the effect classes that no built-in tool has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from neuraphage.decide.summary_request import SUMMARY_SYSTEM
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.testing.scripted_api import ScriptedReply, ScriptRequest, reply
from neuraphage.tools.base import Params, ParsedTool, input_schema

COMMAND = (
    "echo x >> ran; until [ -e ../gate ]; do sleep 0.02; done; cat ran | wc -l; env | grep -c ANTHROPIC_API_KEY || true"
)
"""Counts its runs; ends once somebody waits for it; tells whether it sees the key."""
RUN = ("run_command", {"command": COMMAND, "timeout_ms": 30_000})
ALLOWED = ("deposit", "edit", "ring", "run_command")
ANSWERED_FILE, UNANSWERED_FILE = "b.txt", "c.txt"
USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 3}
"""Fixed, so that counters do not depend on the length of an interruption's text."""
FAULT = {"kind": "429", "turn": 1, "attempts": [1], "retry_after": "600"}
"""The first sending of each second request fails, and is sent again by a timer."""
PLAN: tuple[tuple[tuple[str, dict[str, object]], ...], ...] = (
    (("list_directory", {"path": "."}), ("read_file", {"path": "a.txt"}), ("deposit", {"amount": 5})),
    (("write_file", {"path": "b.txt", "content": "hello\n"}), ("ask_user", {"question": "Which colour?"})),
    (("edit", {"path": "b.txt", "old_string": "hello", "new_string": "goodbye"}), RUN, ("ring", {})),
    (("deposit", {"amount": 5}), RUN, ("write_file", {"path": "c.txt", "content": "never\n"})),
)
"""The calls of each turn. Deposit and command come twice, with equal parameters, and must happen twice."""


LONG = 2
"""The step whose reply fills most of the context window, so that a summary is made before the next one."""
LONG_USAGE = {**USAGE, "input_tokens": 180_000}
STEP = re.compile(r"Step (\d)\.")


def script(request: ScriptRequest) -> ScriptedReply:
    """The next turn of the plan, whatever the results were; then the end."""
    done = max((int(number) for number in STEP.findall(str(request.body["messages"]))), default=-1)
    if request.system == SUMMARY_SYSTEM:
        return reply(f"Summary up to Step {done}.", usage=USAGE)
    step = done + 1
    if step >= len(PLAN):
        return reply("All done.", usage=USAGE)
    words = f"Step {step}. " + ("Much is to be said. " * 600 if step == 0 else "")
    return reply(words, tools=PLAN[step], usage=LONG_USAGE if step == LONG else USAGE)


class DepositParams(Params):
    """Parameters of deposit."""

    amount: int


class RingParams(Params):
    """Parameters of ring: none."""


def _declaration(name: str, effect_class: EffectClass, params: type[Params]) -> ToolDeclaration:
    return ToolDeclaration(
        name=name,
        description=f"Test tool, {effect_class.value}.",
        input_schema=input_schema(params),
        effect_class=effect_class,
        side_effecting=True,
        timeout_s=10.0,
    )


class Deposit(ParsedTool[DepositParams]):
    """Keyed: the outside world drops a repeat of the same effect id.

    Args:
        outside: folder of the outside world.
        heartbeat: called while the tool runs, as the heartbeat's thread would be.
    """

    params_model = DepositParams

    def __init__(self, outside: Path, heartbeat: Callable[[], None]) -> None:
        super().__init__(_declaration("deposit", EffectClass.KEYED, DepositParams))
        self._outside = outside
        self._heartbeat = heartbeat

    def carry_out(self, params: DepositParams, context: ToolContext) -> ToolResult:
        """Add to the counter, unless this key was seen."""
        self._heartbeat()
        (self._outside / f"deposit-{context.effect_id}").touch()
        return ToolResult(text=f"Deposited {params.amount}.")


class Ring(ParsedTool[RingParams]):
    """Opaque and not spooled: nothing but its own result tells that it ran.

    Args:
        outside: folder of the outside world.
    """

    params_model = RingParams

    def __init__(self, outside: Path) -> None:
        super().__init__(_declaration("ring", EffectClass.OPAQUE, RingParams))
        self._outside = outside

    def carry_out(self, params: RingParams, context: ToolContext) -> ToolResult:
        """Ring once more."""
        with (self._outside / "rings").open("a") as rings:
            rings.write(f"{os.getpid()}\n")
        return ToolResult(text="Rang.")

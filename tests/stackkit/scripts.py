"""What the scripted model says: the prompt of a task holds the whole conversation as a plan.

A plan is a list of turns; the n-th request of the conversation gets the n-th turn. So each test writes its own
model in place, and a request that is sent again gets the same answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply

Turn = dict[str, Any]
SLOW = {"between_events_s": 0.05, "chunk_chars": 2}
"""About 40 characters a second: long enough to be interrupted."""


def turn(text: str = "", *tools: tuple[str, dict[str, Any]], until: Path | None = None, **pace: float) -> Turn:
    """One turn of a plan: text, tool calls, and how fast it is streamed (see Pace): `until` holds it until a file is
    there, so that no reply is over before a test has acted in its midst."""
    return {"text": text, "tools": tools, "pace": {**pace, **({} if until is None else {"until": str(until)})}}


def command(line: str, **params: Any) -> tuple[str, dict[str, Any]]:
    """A run_command call."""
    return "run_command", {"command": line, **params}


def waiting(name: str = "") -> tuple[str, dict[str, Any]]:
    """A command that writes a line, waits for the file `go<name>`, and writes another line."""
    return command(
        f"echo start{name} >> log.txt; while [ ! -e go{name} ]; do sleep 0.05; done; echo end{name} >> log.txt"
    )


SYSTEM_END_CHARS = 20
HELD = waiting()
"""A command that runs until the test lets it go: see TaskViews.held and let_go."""


def task_prompt(*turns: Turn, note: str = "") -> str:
    """The prompt of a task whose model follows this plan; the last turn should call no tool."""
    return f"[script:plan] {note}\n" + json.dumps(turns)


def plan(request: ScriptRequest) -> ScriptedReply:
    """The model that follows the plan in the first message; `{max_tokens}` and `{system_end}` say what it was sent."""
    # a guard may have added words behind it
    turns, _ = json.JSONDecoder().raw_decode(request.prompt.split("\n", 1)[1])
    now = turns[min(request.turn, len(turns) - 1)]
    said = now["text"].replace("{max_tokens}", str(request.body["max_tokens"]))
    said = said.replace("{system_end}", request.system[-SYSTEM_END_CHARS:])
    return reply(
        said or ("" if now["tools"] else "done"),
        tools=[(name, params) for name, params in now["tools"]],
        pace=Pace(**{**now["pace"], "until": Path(until) if (until := now["pace"].get("until")) else None}),
    )

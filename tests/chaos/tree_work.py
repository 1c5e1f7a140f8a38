"""Trees of three levels over a few files: what the scripted model asks for, and what must be there at the end."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply

FILES = 10
USAGE = {"input_tokens": 500, "output_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
CALL_MICROUSD = 600
"""What each reply costs at a micro-dollar a token."""
TURNS = (3, 4, 3)
"""Replies of a task of each level: it is at a file, makes subtasks where it has some, is at another one, and ends."""
_PATH = re.compile(r"tree \d+x\d+((?:/\d+)*)")


@dataclass(frozen=True)
class Shape:
    """How wide a tree is.

    Args:
        children: of the first task.
        leaves: of each of those.
    """

    children: int
    leaves: int

    @property
    def tasks(self) -> int:
        return 1 + self.children + self.children * self.leaves

    @property
    def calls(self) -> int:
        """Replies of the whole tree."""
        return TURNS[0] + TURNS[1] * self.children + TURNS[2] * self.children * self.leaves

    @property
    def cost_microusd(self) -> int:
        return CALL_MICROUSD * self.calls

    def prompt(self, note: str) -> str:
        """Of the first task; the rest follows from it."""
        return f"tree {self.children}x{self.leaves} {note}"


def answer(request: ScriptRequest) -> ScriptedReply:
    """A reply goes by the request alone."""
    found = _PATH.search(request.prompt)
    assert found is not None, request.prompt
    level, turn = found[1].count("/"), request.turn
    children, leaves = (int(text) for text in found[0].split("/")[0].split(" ")[1].split("x"))
    below = (children, leaves, 0)[level]
    number = random.Random(f"{request.prompt} {turn}").randrange(FILES)
    at_file = [("touch", {"path": f"{number}.txt"})]
    tools: list[tuple[str, dict[str, Any] | str]]
    if turn == TURNS[level] - 1:
        tools = []
    elif turn == 1 and below:
        named = found[0]
        note = request.prompt[found.end() :].split("\n")[0]
        tools = [("spawn_task", {"prompt": f"{named}/{one}{note}"}) for one in range(below)]
    else:
        tools = list(at_file)
    return reply(f"turn {turn}", tools=tools, usage=USAGE, pace=Pace(between_events_s=0.004))


@dataclass(frozen=True)
class Told:
    """One event of the stream of all tasks."""

    at_ms: int
    kind: str
    task_id: str


FREES = {"TaskBlocked", "TaskPaused", "UserInputNeeded", "TaskCompleted", "TaskFailed", "TaskCancelled"}


def most_at_work(events: Iterable[Told], labels: Mapping[str, str]) -> Counter[str]:
    """By the history: how many tasks had a slot at once, of each label and of all (`*`).

    A script writes all of its events in one millisecond of its own clock; who begins by it begins with what it frees.
    """
    at_work, most = dict[str, str](), Counter[str]()
    for event in sorted(events, key=lambda one: (one.at_ms, one.kind not in FREES)):
        if event.kind == "TaskScheduled":
            at_work[event.task_id] = labels[event.task_id]
            most |= Counter(at_work.values()) + Counter({"*": len(at_work)})
        elif event.kind in FREES:
            at_work.pop(event.task_id, None)
    return most


def asked_again(requests: Sequence[Mapping[str, Any]], committed_ms: Mapping[str, int]) -> list[str]:
    """Requests that reached the provider after the reply to one of the same content was committed.

    Args:
        requests: the provider's log.
        committed_ms: request id -> when its reply was committed, Unix milliseconds of the same clock.
    """
    known = [(entry["request_hash"], committed_ms.get(entry["request_id"])) for entry in requests]
    done_ms = {request_hash: at_ms for request_hash, at_ms in known if at_ms is not None}
    return [
        f"{entry['request_id']} repeats a reply that was committed"
        for entry in requests
        if 1_000 * entry["received_at_s"] > done_ms.get(entry["request_hash"], float("inf"))
    ]

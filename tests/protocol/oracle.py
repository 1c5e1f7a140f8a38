"""What must hold of one task after every step, read from the stored state alone (no model of the protocol)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from deadline_oracle import Asked, faults, remembered

from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import TERMINAL, Status
from neuraphage.store import invariant
from neuraphage.store.encode import stored_entry
from neuraphage.store.repair import examine
from storekit import StoreKit

GIVEN_UP = frozenset({Status.CANCELLED, Status.FAILED})


@dataclass
class Memory:
    """What the checks remember between steps; it goes back with the server when that loses its tail.

    Args:
        accepted: stored bytes of input and answers that were accepted and are still owed to the task.
        seq, fence: highest values seen.
        place: where the task sat.
        ended: the task's keys as they were when it ended; None while it is not over.
        suspected: expiry of the lease that was seen expired, and whether that was long enough ago.
        asked: what is known of prompts, see deadline_oracle.py.
        grants: answers that the task is to remember.
    """

    accepted: frozenset[bytes] = frozenset()
    seq: int = 0
    fence: int = 0
    place: str = ""
    ended: dict[str, Any] | None = None
    suspected: tuple[int, bool] | None = None
    asked: Asked = field(default_factory=Asked)
    grants: dict[str, str] = field(default_factory=dict)


@dataclass
class View:
    """One reading of the task."""

    status: Status
    seq: int
    fence: int
    place: str
    iteration: int
    fields: dict[str, str]
    entries: list[dict[str, Any]]
    inbox: list[bytes]
    deadlines: dict[str, int]
    answers: list[tuple[str, str]]
    keys: dict[str, Any] = field(default_factory=dict)


def tag(**what: Any) -> str:
    """The text of an entry that says what wrote it."""
    return json.dumps(what)


def look(kit: StoreKit, task_id: str) -> View:
    """Read the task, and everything under its name but its history."""
    state = kit.state()
    name = kit.keys.task(task_id)
    raw = {k.decode(): v.decode() for k, v in state[name][0].items()}
    stored = [stored_entry(entry) for entry in state.get(kit.keys.messages(task_id), ([], False))[0]]
    return View(
        status=Status(raw["status"]),
        seq=int(raw["seq"]),
        fence=int(raw["fence"]),
        place=kit.place(task_id),
        iteration=int(raw["iteration"]),
        fields=raw,
        entries=[json.loads(entry["content"][0]["text"]) for entry in stored[1:] if entry["content"]],
        inbox=state.get(kit.keys.inbox(task_id), ([], False))[0],
        deadlines={
            member.decode().partition("|")[2]: int(due_ms)
            for member, due_ms in state.get(kit.keys.deadlines, ([], False))[0]
        },
        answers=[_answer(row) for _, row in state[kit.keys.events(task_id)][0] if row[b"k"] == b"AnswerReceived"],
        keys={key: value for key, value in state.items() if key.startswith(name)},
    )


def _answer(row: dict[bytes, bytes]) -> tuple[str, str]:
    data = json.loads(row[b"d"])
    return data["prompt"], data["by"]


def check(kit: StoreKit, task_id: str, memory: Memory) -> None:
    """Assert every rule and bring the memory up to date."""
    assert invariant.violations(kit.store.context) == []
    assert [row.findings for row in examine(kit.store.context, [task_id], RepairMode.LOOK) if row.findings] == []
    assert kit.leaked_keys() == []
    view = look(kit, task_id)
    assert view.seq >= memory.seq, "seq fell"
    assert view.fence >= memory.fence, "fence fell"
    moved = view.place != memory.place and (memory.place, view.place) != ("outbox", "leases")
    assert view.seq > memory.seq or not moved, f"moved from {memory.place} to {view.place} without a new seq"
    memory.seq, memory.fence, memory.place = view.seq, view.fence, view.place
    _check_turns(view)
    _check_chains(view)
    _check_people(view, memory)
    memory.asked = memory.asked.after(view.entries, is_over=view.status in TERMINAL)
    memory.grants = remembered(view.entries, memory.grants)
    wrong = faults(memory.asked, memory.grants, view.fields, view.deadlines, view.answers)
    assert wrong == [], wrong
    _check_wait(view)
    if view.status in TERMINAL:
        memory.ended = memory.ended or view.keys
        assert view.keys == memory.ended, "a task that is over changed"
    else:
        assert memory.ended is None, "a task that was over goes on"


def _check_turns(view: View) -> None:
    turns = [entry["turn"] for entry in view.entries if entry["ends"]]
    assert turns == list(range(view.iteration)), f"turns committed: {turns}, iteration {view.iteration}"


def _check_chains(view: View) -> None:
    chains: dict[str, list[int]] = {}
    for entry in view.entries:
        chains.setdefault(entry["claim"], []).append(entry["token"])
    for claim, tokens in chains.items():
        assert tokens == list(range(1, len(tokens) + 1)), f"writes of {claim}: {tokens}"


def _check_people(view: View, memory: Memory) -> None:
    taken = [raw.encode() for entry in view.entries for raw in entry["took"]]
    assert len(taken) == len(set(taken)), "an inbox item was consumed twice"
    if view.status in GIVEN_UP:
        memory.accepted = frozenset()
    lost = memory.accepted - set(taken) - set(view.inbox)
    assert not lost, f"accepted, but neither in the inbox nor in the conversation: {lost}"
    assert not set(taken) & set(view.inbox), "consumed, but still in the inbox"
    if view.status is Status.COMPLETED:
        unread = [raw for raw in view.inbox if raw in memory.accepted]
        assert not unread, f"completed without having read {unread}"


def _check_wait(view: View) -> None:
    if view.status is not Status.WAITING_FOR_USER:
        return
    open_prompts = {name[2:] for name in view.fields if name.startswith("p:")}
    for raw in view.inbox:
        head = raw.partition(b"\n")[0].decode()
        talks = any(prompt.endswith(":conversation") for prompt in open_prompts)
        assert head[1:] not in open_prompts, "waits although the answer is there"
        assert not (head == "i" and talks), "waits although input is there"

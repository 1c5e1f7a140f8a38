"""Holding every task against its record, in batches, and putting right what contradicts it (repair.lua).

The record of a task is believed; its place, its status index, the index of all ids, its deadlines and expiries follow
from it. Each task is looked at and repaired by one script, so this may run beside workers, people and other repairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuraphage.model.repairing import RepairMode, RepairResult, RepairVerdict
from neuraphage.model.task import Status
from neuraphage.store.client import translated
from neuraphage.store.context import WHY_MAX, StoreContext
from neuraphage.store.edge_scan import scan_edges, waiting_of
from neuraphage.store.encode import dumps
from neuraphage.store.keys import Keys
from neuraphage.store.line_rules import scan_line
from neuraphage.store.lock_scan import Named, scan_locks
from neuraphage.store.scripts import script

WHOLE_ID = re.compile(r"task-[0-9a-f-]{36}")


def examine(
    context: StoreContext,
    task_ids: Iterable[str],
    mode: RepairMode,
    deadlines: Sequence[str] = (),
    edges: Sequence[str] = (),
    locks: Sequence[Named] = (),
    line: Sequence[str] = (),
) -> list[RepairResult]:
    """Look at tasks, each at one instant, and repair them if asked to.

    Args:
        context: the store.
        task_ids: which; they need not exist.
        mode: what may be changed.
        deadlines: members of the index of deadlines that are in question.
        edges, line: the same of the index of edges, and of the line of admission.
        locks: tasks and resources of the hash of locks that are in question.

    Raises:
        StoreUnavailable, StoreError: those before were looked at; repeating it is safe.
    """
    found = []
    for task_id in task_ids:
        mine = [member for member in deadlines if member.partition("|")[0] == task_id]
        given = {
            "mode": mode.value,
            "deadlines": dumps(mine),
            "edges": dumps([member for member in edges if waiting_of(member) == task_id]),
            "locks": dumps([resource for holder, resource in locks if holder == task_id]),
            "line": dumps([member for member in line if member.rpartition(" ")[2] == task_id]),
            "aside": context.keys.damaged,
            "lease_ms": context.lease_ms,
            "why_max": WHY_MAX,
            **context.limits,
        }
        reply = script("repair").run(context, given, task_id=task_id)
        texts = [part.decode(errors="replace") for part in reply]
        found.append(RepairResult(task_id, RepairVerdict(texts[0]), tuple(texts[1:])))
    return found


def damaged_indexes(context: StoreContext, mode: RepairMode) -> list[RepairResult]:
    """Keys of the whole namespace that hold another type than they should; put aside by a repair, to be built anew."""
    kinds = _kinds(context.keys)
    fix = mode is RepairMode.REPAIR
    keep_ms = int(context.settings.conversation_retention_s * 1000)
    given = {"fix": 1 if fix else 0, "aside": context.keys.damaged, "keep_ms": keep_ms}
    reply = script("indexes").run(context, given, keys=list(kinds), rest=list(kinds.values()))
    verdict = RepairVerdict.REPAIRED if fix else RepairVerdict.FOUND
    return [
        RepairResult(key.decode(), verdict, (f"a {kind.decode()}, and should be a {kinds[key.decode()]}",))
        for key, kind in zip(reply[::2], reply[1::2], strict=True)
    ]


def _kinds(keys: Keys) -> dict[str, str]:
    zsets = (keys.outbox, keys.leases, keys.timers, keys.waits, keys.deadlines, keys.retention, keys.tombstones)
    kinds = dict.fromkeys((*zsets, keys.ids, keys.edges, keys.line, keys.lanes, *keys.statuses), "zset")
    hashes = (
        *(keys.suspects, keys.processes, keys.sweep, keys.cooling, keys.kept, keys.ledger),
        *(keys.pools, keys.locks, keys.admission),
    )
    return kinds | dict.fromkeys(hashes, "hash") | {keys.report: "string", keys.all_events: "stream"}


def survey(context: StoreContext, mode: RepairMode, batch: int) -> Iterator[list[RepairResult]]:
    """Look at everything, a batch at a time: the keys of the whole namespace, then each task.

    Damaged keys are told first; while they are not put aside, nothing else can be looked at.

    Args:
        context: the store.
        mode: what may be changed.
        batch: keys read at once.
    """
    damaged = damaged_indexes(context, mode)
    yield damaged
    step = ""
    while not damaged or mode is RepairMode.REPAIR:
        looked, step = survey_step(context, mode, batch, step)
        yield looked
        if not step:
            return


def survey_step(context: StoreContext, mode: RepairMode, batch: int, step: str) -> tuple[list[RepairResult], str]:
    """One batch of a survey.

    Args:
        context: the store.
        mode: what may be changed.
        batch: keys read at once.
        step: where the last one ended; empty to begin.

    Returns:
        What was found, and where the next one begins; empty at the end.
    """
    phases = ("records", *_indexes(context.keys), "edges", "locks", "line")
    phase, _, cursor = step.partition("@")
    at = phases.index(phase) if phase in phases else 0
    cursor_number = int(cursor) if cursor.isdecimal() else 0
    edges: list[str] = []
    locks: list[Named] = []
    line: list[str] = []
    if phases[at] == "records":
        cursor_number, ids, deadlines = _scan_records(context, cursor_number, batch)
    elif phases[at] == "edges":
        cursor_number, edges = scan_edges(context, cursor_number, batch)
        ids, deadlines = sorted(set(map(waiting_of, edges))), []
    elif phases[at] == "locks":
        cursor_number, locks = scan_locks(context, cursor_number, batch)
        ids, deadlines = sorted({task_id for task_id, _ in locks}), []
    elif phases[at] == "line":
        cursor_number, line = scan_line(context, cursor_number, batch)
        ids, deadlines = sorted({member.rpartition(" ")[2] for member in line}), []
    else:
        cursor_number, ids, deadlines = _scan_index(context, phases[at], cursor_number, batch)
    looked = examine(context, ids, mode, deadlines, edges, locks, line)
    if cursor_number:
        return looked, f"{phases[at]}@{cursor_number}"
    return looked, f"{phases[at + 1]}@0" if at + 1 < len(phases) else ""


def _indexes(keys: Keys) -> dict[str, str]:
    names = ("outbox", "leases", "timers", "waits", "deadlines", "suspects", "ids")
    return {name: getattr(keys, name) for name in names} | {s.value: keys.status(s) for s in Status}


def record_ids(context: StoreContext, batch: int) -> list[str]:
    """The id of every task whose record is there, by the records themselves, a batch of keys at a time."""
    cursor, found, _ = _scan_records(context, 0, batch)
    while cursor:
        cursor, ids, _ = _scan_records(context, cursor, batch)
        found += ids
    return sorted(set(found))


def _scan_records(context: StoreContext, cursor: int, batch: int) -> tuple[int, list[str], list[str]]:
    start = context.keys.task("")
    pattern = start.replace("[", "\\[").replace("]", "\\]") + "task-*"
    with translated("look through the records"):
        cursor, names = context.client.scan(cursor, match=pattern, count=batch)
    found = (WHOLE_ID.match(name.decode()[len(start) :]) for name in names)
    return cursor, sorted({match[0] for match in found if match}), []


def _scan_index(context: StoreContext, name: str, cursor: int, batch: int) -> tuple[int, list[str], list[str]]:
    """Members of an index whose record is gone, or whose prompt is not open; the others were looked at by record."""
    keys, key = context.keys, _indexes(context.keys)[name]
    with translated("look through the indexes"):
        scan = context.client.hscan if name == "suspects" else context.client.zscan
        cursor, rows = scan(key, cursor, count=batch)
        members = [row if isinstance(row, bytes) else row[0] for row in rows]
        texts = [member.decode(errors="replace") for member in members]
        with context.client.pipeline(transaction=False) as pipe:
            for text in texts:
                task_id, _, prompt = text.partition("|")
                if prompt:
                    pipe.hexists(keys.task(task_id), f"p:{prompt}")
                else:
                    pipe.exists(keys.task(task_id))
            there = pipe.execute(raise_on_error=False) if texts else []
    questioned = [text for text, known in zip(texts, there, strict=True) if known in (0, False)]
    return cursor, sorted({text.partition("|")[0] for text in questioned}), [t for t in questioned if "|" in t]

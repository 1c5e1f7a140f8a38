"""The chaos run's own eyes: what it must see before its silence means anything."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from chaos_record import Doing, doing
from chaos_tasks import ChaosTask, make_task

from neuraphage.model.effect import EffectState, JournalEntry, Marker, MarkerName, ModelEffect, ToolEffect
from neuraphage.model.phase import Phase
from neuraphage.model.task import RunningDetail, Status, TaskRecord, TaskSpec
from neuraphage.model.usage import Counters


def drawn() -> ChaosTask:
    """A task with commands, edits, writes and payments."""
    tasks = (make_task(random.Random(seed)) for seed in range(100))
    return next(task for task in tasks if task.log and task.notes and task.files and task.paid)


def carry_out(task: ChaosTask, folder: Path) -> None:
    """Leave what the task's tools would."""
    (folder / "log.txt").write_text("".join(f"{line}\n" for line in task.log), encoding="utf-8")
    notes = [*reversed(task.notes), "END"]
    (folder / "notes.txt").write_text("".join(f"{line}\n" for line in notes), encoding="utf-8")
    for name, text in task.files:
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "paid").mkdir()
    for number, name in enumerate(task.paid):
        (folder / "paid" / f"key-{number}").write_text(name, encoding="utf-8")


def test_a_line_too_many_or_too_few_is_seen(tmp_path: Path) -> None:
    """Work done once shows no problem; a command or an edit that ran twice, a missing file, and a payment under a
    second key or none, each show one."""
    task = drawn()
    carry_out(task, tmp_path)
    assert task.problems(tmp_path) == []
    log, notes = tmp_path / "log.txt", tmp_path / "notes.txt"
    log.write_text(log.read_text(encoding="utf-8") + task.log[0] + "\n", encoding="utf-8")
    notes.write_text(f"{task.notes[-1]}\n" + notes.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / task.files[0][0]).unlink()
    assert len(task.problems(tmp_path)) == 3
    again = tmp_path / "paid" / "another-key"
    again.write_text(task.paid[0], encoding="utf-8")
    assert len(task.problems(tmp_path)) == 4
    again.unlink()
    assert len(task.problems(tmp_path)) == 3
    (tmp_path / "paid" / "key-0").unlink()
    assert len(task.problems(tmp_path)) == 4


def test_a_seed_draws_the_same_tasks() -> None:
    """A failing run can be repeated by its seed."""
    assert make_task(random.Random(7)) == make_task(random.Random(7))


def model(state: EffectState, fence: int = 2) -> JournalEntry:
    """A journal entry of the model call."""
    return ModelEffect(state=state, fence=fence, request_id="r")


def tool(fence: int = 2, name: str = "run_command") -> JournalEntry:
    """A journal entry of a started tool."""
    return ToolEffect(key="t", state=EffectState.STARTED, fence=fence, tool=name)


@pytest.mark.parametrize(
    ("place", "entries", "answered", "lines", "expected"),
    [
        ("outbox", [], False, [], Doing.BETWEEN),
        ("timers", [], False, [], None),
        ("leases", [], False, [], Doing.CLAIMED),
        ("leases", [model(EffectState.STARTED, fence=1)], False, [], Doing.CLAIMED),
        ("leases", [model(EffectState.STARTED)], False, [], Doing.STREAMING),
        ("leases", [model(EffectState.STARTED)], True, [], Doing.COMMITTING),
        ("leases", [model(EffectState.COMPLETED), tool(fence=1)], True, ["1 start"], Doing.CLAIMED),
        ("leases", [model(EffectState.COMPLETED), tool()], True, ["1 start"], Doing.IN_TOOL),
        ("leases", [model(EffectState.COMPLETED), tool()], True, ["1 start", "1 end"], Doing.COMMITTING),
        ("leases", [model(EffectState.COMPLETED), tool(name="edit")], True, ["1 start", "1 end"], Doing.IN_TOOL),
    ],
)
def test_each_class_is_read_from_the_record(
    place: str, entries: list[JournalEntry], answered: bool, lines: list[str], expected: Doing | None
) -> None:
    """One row a class: what is stored and what the world shows decide."""
    record = TaskRecord(
        spec=TaskSpec(task_id="task-" + "0" * 36, name="n", prompt="p", model="m"),
        status=Status.RUNNING,
        detail=RunningDetail(phase=Phase.PROCESSING, started_at_ms=0, iteration=1),
        marker=Marker(name=MarkerName.TASK_CREATED),
        counters=Counters(iteration=1),
        seq=2,
        fence=2,
        place=place,
    )
    assert doing(record, {entry.key: entry for entry in entries}, {"r": answered}, lines) is expected

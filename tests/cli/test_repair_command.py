"""`repair` and the records' finding of `doctor`: what a person sees of lost indexes, and of their return."""

from __future__ import annotations

import pytest

from clikit import Bench, CommandLine
from neuraphage.model.task import Status
from neuraphage.store import invariant, queries


def test_lost_indexes_are_seen_and_come_back(cli: CommandLine, bench: Bench) -> None:
    """A dry run changes nothing and fails; a repair puts all back; then there is nothing left to do."""
    kit = bench.kit
    ids = {kit.put(status) for status in Status}
    kit.client.delete(kit.keys.ids, kit.keys.waits, *kit.keys.statuses)
    before = kit.state()
    tried = cli("repair", "--dry-run", "--json")
    assert (tried.code, tried.json["ok"], tried.json["dry_run"]) == (1, False, True)
    assert {row["name"] for row in tried.json["found"]} == ids
    assert kit.state() == before
    assert cli("list").out.strip() != ""
    done = cli("repair")
    assert done.code == 0
    assert all(task_id in done.out for task_id in ids)
    assert invariant.violations(kit.store.context) == []
    assert {task_id for task_id, _ in queries.ids_by_creation(kit.store.context)} == ids
    again = cli("repair", "--json")
    assert (again.code, again.json["found"], again.json["looked_at"]) == (0, [], len(ids))


def test_only_the_tasks_that_are_named(cli: CommandLine, bench: Bench) -> None:
    """By any unique part of an id, although no index has it; all others are left as they are."""
    kit = bench.kit
    one, gone, other = kit.create(), kit.create(), kit.create()
    kit.client.delete(kit.keys.ids, kit.keys.outbox, *kit.keys.statuses)
    kit.client.delete(*kit.keys.script_keys(gone)[:1], kit.keys.task(gone), kit.keys.messages(gone))
    kit.client.zadd(kit.keys.timers, {gone: 1})
    kit.client.zadd(kit.keys.deadlines, {f"{one}|p9": 1, f"{other}|p9": 1})
    before = kit.state()
    tried = cli("repair", one[-12:], "--dry-run", "--json")
    assert (tried.code, [row["name"] for row in tried.json["found"]]) == (1, [one])
    assert kit.state() == before
    assert cli("repair", f"...{one[-12:].upper()}", gone, one).code == 0
    assert [member.decode() for member in kit.client.zrange(kit.keys.ids, 0, -1)] == [one]
    assert [member.decode() for member in kit.client.zrange(kit.keys.outbox, 0, -1)] == [one]
    assert kit.client.zrange(kit.keys.timers, 0, -1) == []
    assert [member.decode() for member in kit.client.zrange(kit.keys.deadlines, 0, -1)] == [f"{other}|p9"]
    assert cli("repair").code == 0


@pytest.mark.parametrize("part", ["", "zzz", "task-0", "task-00000000-0000-0000-0000-00000000dead"])
def test_a_name_that_fits_not_one_task(cli: CommandLine, bench: Bench, part: str) -> None:
    """Refused as a wrong call, in one line, and nothing is changed."""
    kit = bench.kit
    kit.create()
    kit.create()
    before = kit.state()
    ran = cli("repair", part)
    assert (ran.code, ran.err.count("\n"), ran.out) == (2, 1, "")
    assert kit.state() == before


def test_what_no_record_can_put_right_is_left_and_told(cli: CommandLine, bench: Bench) -> None:
    """The exit code tells that a person must look."""
    kit = bench.kit
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), "status", "Dreaming")
    ran = cli("repair", "--json")
    assert (ran.code, [row["verdict"] for row in ran.json["found"]]) == (1, ["LEFT"])
    assert kit.field(task_id, "status") == "Dreaming"
    kit.client.flushall()


def test_doctor_sees_a_lost_index(cli: CommandLine, bench: Bench) -> None:
    """It names the task and the command that puts it right."""
    kit = bench.kit
    task_id = kit.create()

    def records() -> dict[str, str]:
        (found,) = [f for f in cli("doctor", "--json").json["findings"] if f["check"] == "records"]
        return dict(found)

    assert records()["level"] == "ok"
    kit.client.zrem(kit.keys.outbox, task_id)
    broken = records()
    assert broken["level"] == "problem"
    assert task_id in broken["found"]
    assert "neuraphage repair" in broken["to_do"]
    cli("repair")
    assert records()["level"] == "ok"

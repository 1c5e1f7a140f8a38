"""`schedules`: what a person adds, sees and changes; and the same of both clients."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clikit import Bench, CommandLine
from neuraphage.client import AsyncClient
from neuraphage.errors import BadInput
from neuraphage.model.schedule import Overlap

YEARLY = "0 9 24 12 *"


def test_a_schedule_through_its_life(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """Added, listed, shown, due, paused, resumed, removed."""
    options = ("--zone", "Europe/Vienna", "--dir", str(tmp_path), "--force", "--tag", "red", "--label", "team=web")
    added = cli("schedules", "add", "feast", YEARLY, "Bake a cake.", *options, "--max-turns", "7", "--priority", "1")
    assert (added.code, added.out.startswith("feast: first 20")) == (0, True), added.err
    assert added.out.endswith("-12-24 09:00 CET\n")
    listed = cli("schedules", "list").out
    assert (YEARLY in listed, "Bake a cake." in listed, "CET" in listed) == (True, True, True)
    shown = cli("schedules", "show", "feast")
    assert f"cron         {YEARLY} (Europe/Vienna)\n" in shown.out
    assert "7 turns" in shown.out
    bench.client.pause_schedule("feast")
    assert "paused" in cli("schedules", "list").out
    assert cli("schedules", "resume", "feast").out.endswith("-12-24 09:00 CET\n")
    assert cli("schedules", "remove", "feast").out == "removed\n"
    assert "no schedules; add one with" in cli("schedules", "list").err


def test_its_tasks_are_made_as_submit_makes_them(cli: CommandLine, bench: Bench) -> None:
    """Redacted, with their limits, labels and tags; the sweep publishes them."""
    secret = "sk-ant-api03-" + "a" * 40
    cli("schedules", "add", "often", "* * * * *", f"Use {secret}.", "--label", "team=web", "--tag", "red")
    state = bench.client.schedule("often").state.model_copy(update={"next_ms": 1})
    bench.kit.client.hset(bench.kit.keys.schedule_states, "often", state.model_dump_json())
    turn = bench.kit.store.occur(bench.kit.store.due_schedules(2)[0])
    assert turn is not None
    record = bench.client.get(turn.task_id)
    assert secret not in record.spec.prompt
    assert (record.spec.tags, record.spec.labels) == (("red", "schedule:often"), {"team": "web"})
    assert turn.task_id.rpartition("-")[2] in cli("schedules", "show", "often").out
    assert turn.task_id.rpartition("-")[2] in cli("list", "--tag", "schedule:often").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "* * * *", "x"), "has 4 fields; write five fields: minute (0-59)"),
        (("a", "* * * * *", "x", "--zone", "Mars/Base"), "knows no zone 'Mars/Base'"),
        (("a b", "* * * * *", "x"), "a name has letters"),
        (("a", "* * * * *", " "), "the prompt is empty"),
        (("taken", "* * * * *", "x"), "there is a schedule 'taken' already"),
    ],
)
def test_what_is_none_is_refused(cli: CommandLine, bench: Bench, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, what is allowed, and nothing added."""
    bench.client.add_schedule("taken", YEARLY, "x")
    ran = cli("schedules", "add", *words)
    assert (ran.code, said in " ".join(ran.err.split())) == (2, True), ran.err
    assert [one.definition.name for one in bench.client.schedules()] == ["taken"]


@pytest.mark.parametrize("verb", ["show", "pause", "resume", "remove"])
def test_a_schedule_that_there_is_not(cli: CommandLine, bench: Bench, verb: str) -> None:
    """It says how to find those that there are."""
    ran = cli("schedules", verb, "none")
    assert (ran.code, "neuraphage schedules list" in ran.err) == (2, True)
    assert bench.client.schedules() == []


def test_what_is_of_one_task_alone_is_refused(bench: Bench) -> None:
    """A schedule's tasks have no parent, no key and wait for nobody."""
    with pytest.raises(BadInput, match="takes no key and no parent"):
        bench.client.add_schedule("a", YEARLY, "x", key="k", parent="p")


def test_the_client_for_asyncio_has_the_same(bench: Bench) -> None:
    """Each method."""

    async def use() -> list[str]:
        async with AsyncClient(bench.client.settings) as client:
            made = await client.add_schedule("a", YEARLY, "x", overlap=Overlap.QUEUE, zone="UTC")
            await client.pause_schedule("a")
            await client.resume_schedule("a")
            found = [made.definition.overlap, (await client.schedule("a")).definition.zone]
            await client.remove_schedule("a")
            return [*found, *map(str, await client.schedules())]

    assert asyncio.run(use()) == ["queue", "UTC"]

"""`inbox` and `Client.inbox`: what all tasks ask, in this process on a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clikit import Bench, CommandLine
from neuraphage.api.inbox import MOST_INBOX_PROMPTS
from neuraphage.client import AsyncClient
from neuraphage.decide.inbox import alike, in_order
from neuraphage.errors import BadInput
from neuraphage.model.message import Entry
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.shown import OpenPrompt
from neuraphage.model.task import Status, TaskRecord, TaskSpec
from neuraphage.ports import Changes, SuspendTo
from storekit import item


def prompt(prompt_id: str, kind: PromptKind = PromptKind.PERMISSION, at_ms: int = 5, **more: Any) -> Prompt:
    options = PERMISSION_OPTIONS if kind is PromptKind.PERMISSION else ()
    return Prompt(
        prompt_id=prompt_id, kind=kind, text="May run_command run?", options=options, opened_at_ms=at_ms, **more
    )


def asking(bench: Bench, *commands: str, at_ms: int = 5) -> str:
    """A task that asks for these commands."""
    task_id = bench.kit.create()
    lease = bench.kit.claim(task_id)
    ids = [f"c{number}" for number in range(len(commands))]
    blocks = [
        {"type": "tool_use", "id": one, "name": "run_command", "input": {"command": command}}
        for one, command in zip(ids, commands, strict=True)
    ]
    opened = tuple(
        prompt(f"{task_id[-6:]}{one}", at_ms=at_ms, tool="run_command", tool_use_id=one, call_index=number)
        for number, one in enumerate(ids)
    )
    entry = Entry(role="assistant", content=blocks, turn=0, stop_reason="tool_use")
    bench.kit.suspend(lease, SuspendTo.WAIT, Changes(entries=(entry,), prompts_opened=opened))
    return task_id


def test_all_that_is_asked_by_any_task(cli: CommandLine, bench: Bench) -> None:
    """Whole, the longest waiting first, each with the command that answers it; tasks that ask nothing are left out."""
    newer, older = asking(bench, "make one", "make two", at_ms=9), asking(bench, "make old" + " " * 99 + ";x")
    for status in Status:
        if status is not Status.WAITING_FOR_USER:
            bench.kit.put(status)
    found = bench.client.inbox()
    assert [(one.task_id, one.shown.lines[0][0]) for one in found.prompts] == [
        (older, "$ make old<99 blanks>;x"),
        (newer, "$ make one"),
        (newer, "$ make two"),
    ]
    assert found.is_whole
    ran = cli("inbox")
    places = [ran.out.index(words) for words in (older[-12:], "make old<99", newer[-12:], "make one", "make two")]
    assert places == sorted(places)
    for one in found.prompts:
        assert f"neuraphage answer {one.task_id[-12:]} {one.prompt.prompt_id[:8]} ANSWER" in ran.err
    shown = cli("inbox", "--json").json
    assert [one["shown"] for one in shown["prompts"]] == [one.shown.shown for one in found.prompts]
    assert shown["is_whole"] is True


def test_a_paused_task_is_asked_for_too(cli: CommandLine, bench: Bench) -> None:
    """Its answer is kept until it is resumed; that it is paused is told."""
    task_id = asking(bench, "make")
    bench.client.pause(task_id)
    assert "paused" in cli("inbox").out
    (one,) = bench.client.inbox().prompts
    bench.client.answer(task_id, "no", prompt_id=one.prompt.prompt_id)


def test_no_more_than_asked_for(cli: CommandLine, bench: Bench) -> None:
    """That there are more is told; a limit that is none is refused."""
    asking(bench, *(f"make {number}" for number in range(5)))
    found = bench.client.inbox(limit=2)
    assert ([one.shown.lines[0][0] for one in found.prompts], found.is_whole) == (["$ make 0", "$ make 1"], False)
    ran = cli("inbox", "--limit", "2")
    assert "there are more: neuraphage inbox --limit 4" in ran.err
    assert "make 2" not in ran.out
    for limit in (0, MOST_INBOX_PROMPTS + 1):
        with pytest.raises(BadInput, match="give a number"):
            bench.client.inbox(limit=limit)
        assert cli("inbox", "--limit", str(limit)).code == 2


def test_nothing_is_asked(cli: CommandLine, bench: Bench) -> None:
    """In a pipe the answer is empty."""
    bench.kit.create()
    ran = cli("inbox")
    assert (ran.code, ran.out, ran.err) == (0, "", "no task asks anything\n")
    assert cli("inbox", "--json").json == {"prompts": [], "is_whole": True}


def test_the_client_for_asyncio_has_the_same(bench: Bench) -> None:
    """The same names."""
    asking(bench, "make")

    async def read() -> None:
        async with AsyncClient(bench.client.settings) as client:
            assert await client.inbox(limit=9) == bench.client.inbox()
            (record,) = await client.list()
            assert await client.shown_prompts(record) == bench.client.shown_prompts(record)

    asyncio.run(read())


def test_a_function_answers(bench: Bench) -> None:
    """Of either client, by a plain function or by a coroutine's."""
    first, second = asking(bench, "make one", at_ms=1), asking(bench, "rm x", at_ms=2)

    def decide(entry: OpenPrompt) -> str | None:
        return "yes" if entry.shown.params == {"command": "make one"} else None

    assert bench.client.approve(decide, poll_s=0.05, most=1) == 1
    assert [item(raw).text for raw in bench.kit.inbox(first)] == ["yes"]

    async def later(entry: OpenPrompt) -> str:
        await asyncio.sleep(0)
        return "no" if "$ rm x" in entry.shown.shown else "yes"

    async def loop() -> int:
        async with AsyncClient(bench.client.settings) as client:
            return await client.approve(later, tasks=[second], poll_s=0.05, most=1)

    assert asyncio.run(loop()) == 1
    assert [item(raw).text for raw in bench.kit.inbox(second)] == ["no"]


def record(number: int, *prompts: Prompt, priority: int = 2) -> TaskRecord:
    spec = TaskSpec(
        task_id=f"task-{number:08x}-0000-7000-8000-000000000000", name="x", prompt="x", model="m", priority=priority
    )
    return TaskRecord.model_construct(spec=spec, prompts=prompts)


def test_the_order() -> None:
    """Priority first, conversations behind what holds a task up, then the oldest, then the order of the calls."""
    talk, question = PromptKind.CONVERSATION, PromptKind.QUESTION
    records = [
        record(1, prompt("late", at_ms=9)),
        record(2, prompt("talks", talk, at_ms=1)),
        record(3, prompt("urgent", at_ms=99), priority=0),
        record(4, prompt("second", at_ms=5, call_index=1), prompt("first", at_ms=5)),
        record(5, prompt("asks", question, at_ms=7)),
    ]
    assert [one.prompt_id for _, one in in_order(records)] == ["urgent", "first", "second", "asks", "late", "talks"]


def test_what_is_alike() -> None:
    """Permissions of one tool in one task; nothing else."""
    mine = [prompt(name, tool="run_command") for name in "ab"]
    edit, question = prompt("e", tool="edit"), prompt("q", PromptKind.QUESTION, tool="run_command")
    task, other = record(1, *mine, edit, question), record(2, prompt("x", tool="run_command"))
    every = in_order([task, other])
    assert [one.prompt_id for _, one in alike((task, mine[1]), every)] == ["a", "b"]
    assert [one.prompt_id for _, one in alike((task, question), every)] == ["q"]
    assert [one.prompt_id for _, one in alike((other, other.prompts[0]), every)] == ["x"]

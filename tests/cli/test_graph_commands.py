"""Commands about tasks that wait for tasks: submit --after, deps, list, tree, why."""

from __future__ import annotations

import pytest

from clikit import Bench, CommandLine
from neuraphage.decide.children import child_id
from neuraphage.errors import BadInput, CircularDependency, TaskNotFound
from neuraphage.model.dependency import Dependency, OnFailure
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, ChildChanges, SignalKind, SuspendTo
from storekit import question


def short(task_id: str) -> str:
    """An id as lists show it."""
    return task_id.rpartition("-")[2]


def test_submit_after_others(cli: CommandLine, bench: Bench) -> None:
    """By any part of an id, with what is to happen when it fails; until then it is Blocked, and says why."""
    first, second = bench.client.submit("one"), bench.client.submit("two")
    ran = cli("submit", "three", "--after", short(first), "--after", f"{second[-9:]}=go-on")
    task_id = ran.out.strip()
    record = bench.client.get(task_id)
    assert record.status is Status.BLOCKED
    assert record.spec.blocked_by == (
        Dependency(task_id=first),
        Dependency(task_id=second, on_failure=OnFailure.GO_ON),
    )
    said = " ".join(cli("why", task_id).out.split())
    assert "for 2 tasks to end, and holds no worker." in said
    assert f"{short(first)} is not over." in said
    assert f"`neuraphage deps remove {short(task_id)} {short(first)}` lets it wait for that one no more" in said
    bench.kit.end(first, Status.FAILED)
    bench.kit.end(second, Status.CANCELLED)
    said = " ".join(cli("why", task_id).out.split())
    assert f"{short(first)} has failed: retry it, or take the dependency away. next Nothing by itself" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--after", "9999"), "9999"),
        (("--after", "=skip"), "names no task"),
        (("--after", "x=never"), "'never' is none of block, skip, go_on"),
        (("--after", ""), "names no task"),
    ],
)
def test_what_cannot_be_waited_for(cli: CommandLine, bench: Bench, words: tuple[str, ...], said: str) -> None:
    """Exit 2, in words, and no task is made."""
    ran = cli("submit", "three", *words)
    assert (ran.code, said in ran.err, bench.client.list()) == (2, True, [])


def test_deps_are_added_and_removed(cli: CommandLine, bench: Bench) -> None:
    """It says where the task stands then; a circle is refused and shown."""
    first, second = bench.client.submit("one"), bench.client.submit("two")
    assert cli("deps", "add", short(second), short(first), "--on-failure", "skip").out == "it is Blocked now\n"
    refused = cli("deps", "add", short(first), short(second))
    assert (refused.code, f"{second} waits for {first}" in " ".join(refused.err.split())) == (2, True)
    assert cli("deps", "add", short(first), short(first)).code == 2
    assert cli("deps", "remove", short(second), short(first)).out == "it is Queued now\n"
    again = cli("deps", "remove", short(second), short(first))
    assert (again.code, "does not wait for" in again.err) == (2, True)
    events = cli("events", second).out
    assert f"is to wait for {first} (if that fails: skip)" in events
    assert f"waits for {first} no more" in events


def test_a_task_at_work_is_paused_first(cli: CommandLine, bench: Bench) -> None:
    """The refusal says so."""
    task_id, _ = bench.kit.running()
    refused = cli("deps", "add", task_id, bench.client.submit("one"))
    assert (refused.code, f"`neuraphage pause {task_id}`" in " ".join(refused.err.split())) == (2, True)
    over = cli("deps", "add", bench.kit.put(Status.COMPLETED), task_id)
    assert (over.code, "is Completed: it takes no dependency now" in " ".join(over.err.split())) == (2, True)


def test_the_python_client_has_the_same(bench: Bench) -> None:
    """With errors of their own types, and a tree over all tasks between."""
    client = bench.client
    first = client.submit("one")
    middle = client.submit("two", blocked_by=[short(first)])
    last = client.submit("three", blocked_by=[Dependency(task_id=middle, on_failure=OnFailure.SKIP), first])
    with pytest.raises(CircularDependency, match="none of them would ever begin"):
        client.add_dependency(first, last)
    with pytest.raises(TaskNotFound):
        client.submit("four", blocked_by=["task-00000000-0000-0000-0000-00000000dead"])
    tree = client.tree(middle)
    assert [node.task_id for node in tree.waits_for] == [first]
    assert [(node.task_id, node.on_failure, node.holds_up) for node in tree.awaited_by] == [
        (last, OnFailure.SKIP, True)
    ]
    below = client.tree(first).awaited_by
    assert sorted((node.task_id, node.is_repeated) for node in below) == sorted([(middle, False), (last, True)])
    client.cancel(middle)
    assert client.get(last).status is Status.CANCELLED
    said = " ".join(client.why(last).because)
    assert said == f"It was skipped, since {middle} is Cancelled."
    bench.kit.end(first, Status.COMPLETED)


def test_tree_and_list(cli: CommandLine, bench: Bench) -> None:
    """Who waits for whom, deleted ones too; the ready and the blocked ones."""
    first = bench.client.submit("the first")
    middle = bench.client.submit("the middle", blocked_by=[first])
    last = bench.client.submit("the last", blocked_by=[middle])
    shown = cli("tree", middle).out
    assert shown.splitlines() == [
        f"{short(middle)}  Blocked  the middle",
        "  waits for",
        f"    {short(first)}  Queued (block)  the first",
        "  awaited by",
        f"    {short(last)}  Blocked (block)  the last",
    ]
    assert (
        "it waits for no task, none waits for it, and it has made none"
        in cli("tree", bench.kit.put(Status.COMPLETED)).err
    )
    ready = [row["spec"]["task_id"] for row in cli("list", "--ready", "--json").json]
    assert ready == [first]
    assert {row["spec"]["task_id"] for row in cli("list", "--blocked", "--json").json} == {middle, last}
    bench.kit.end(first, Status.FAILED)
    bench.kit.store.delete(first, force=True)
    assert f"    {short(first)}  deleted" in cli("tree", middle).out
    bench.kit.send(middle, SignalKind.CANCEL)


def test_subtasks_are_shown_with_who_made_them(cli: CommandLine, bench: Bench) -> None:
    """tree shows those below and who is above; a person's subtask has its parent's directory, and its own limits."""
    parent = bench.client.submit("the parent", working_dir="/w/p", max_cost_usd=1)
    child = bench.client.submit("a part", parent=parent)
    below = bench.client.submit("a part of it", parent=child)
    assert cli("tree", parent).out.splitlines() == [
        f"{short(parent)}  Queued  the parent",
        "  has made",
        f"    {short(child)}  Queued  a part",
        f"      {short(below)}  Queued  a part of it",
    ]
    assert f"made by {short(parent)}" in cli("tree", child).out
    spec = bench.client.get(child).spec
    assert (spec.working_dir, spec.depth, spec.limits.max_cost_microusd) == ("/w/p", 1, 1_000_000)
    deepest = bench.client.submit("deeper", parent=below)
    with pytest.raises(BadInput, match="max_task_depth"):
        bench.client.submit("too deep", parent=deepest)


def test_why_names_the_subtasks_that_need_a_person(cli: CommandLine, bench: Bench) -> None:
    """The parent is Blocked, and says which of them asks."""
    parent, lease = bench.kit.running()
    names = ("a", "b")
    specs = [
        TaskSpec(task_id=child_id(parent, name), name=name, prompt=name, model="m", parent_id=parent, depth=1)
        for name in names
    ]
    new = tuple((spec, ChildWait.ALL) for spec in specs)
    bench.kit.suspend(lease, SuspendTo.SUBTASKS, Changes(children=ChildChanges(new=new)))
    asking = bench.kit.claim(specs[1].task_id)
    bench.kit.suspend(asking, SuspendTo.WAIT, Changes(prompts_opened=(question(),)))
    said = cli("why", parent).out
    assert "2 subtasks to end, and holds no worker" in said
    assert f"{short(specs[1].task_id)} waits for a person: `neuraphage inbox` shows what it asks." in said
    assert f"{short(specs[0].task_id)} is Queued." in said
    asked = cli("inbox").out
    assert f"task {short(parent)} > {short(specs[1].task_id)}, priority 2" in asked

"""Tasks that tasks make: made once, waited for without a process, told of in the result of the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.children import child_id
from neuraphage.model.dependency import DependencyState
from neuraphage.model.event import EventKind
from neuraphage.model.limits import Limits
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import FailedDetail, Status
from neuraphage.ports import Delta, Interrupt, SuspendTo
from turnkit import Rig, calls, new_rig, says

Replies = Mapping[str, Sequence[ModelReply]]


class ByTask:
    """ports.ModelClient for several tasks: the replies of each stand under its prompt."""

    def __init__(self, replies: Replies) -> None:
        self.left = {prompt: list(steps) for prompt, steps in replies.items()}
        self.asked: list[str] = []

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        prompt = request.messages[0]["content"][0]["text"]
        self.asked.append(prompt)
        return self.left[prompt].pop(0)


def rig_of(folder: Path, replies: Replies, **settings: Any) -> Rig:
    return new_rig(folder, ByTask(replies), **settings)


def spawns(*names: str, **more: Any) -> ModelReply:
    """A reply that makes a subtask under each of these ids."""
    return calls(*((name, "spawn_task", {"prompt": f"Do {name}.", **more}) for name in names))


def test_a_parent_gets_the_result_of_its_child(tmp_path: Path) -> None:
    """It is Blocked meanwhile, and the summary, the files and the cost come back as the result of its call."""
    writes = calls(("w", "write_file", {"path": "part.txt", "content": "x"}))
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("s1"), says("All done.")], "Do s1.": [writes, says("The part is written.")]},
    )
    parent = rig.submit()
    rig.step()
    record = rig.get(parent)
    assert (record.status, record.place, record.lease_until_ms) == (Status.BLOCKED, "waits", None)
    child = child_id(parent, "s1")
    assert [one.task_id for one in record.children] == [child]
    assert rig.get(child).spec.parent_id == parent
    rig.drain()
    assert rig.get(parent).status is Status.COMPLETED
    assert rig.get(child).status is Status.COMPLETED
    told = rig.results(parent)["s1"]
    text = told["content"] if isinstance(told["content"], str) else told["content"][0]["text"]
    assert "completed after 2 turns" in text
    assert "The part is written." in text
    assert "part.txt" in text
    assert not told.get("is_error")
    assert EventKind.SUBTASK_SPAWNED in rig.kinds(parent)
    assert rig.get(parent).outcomes == {}
    assert rig.get(parent).children[0].state is DependencyState.COMPLETED
    rig.check()


def test_several_calls_of_one_reply_make_their_children_in_one_write(tmp_path: Path) -> None:
    """All of them work at the same time; the parent goes on when the last one is over."""
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("a", "b", "c"), says("Done.")], **{f"Do {one}.": [says(f"{one} done")] for one in "abc"}},
    )
    parent = rig.submit()
    rig.step()
    assert [task_id for task_id, _ in rig.dispatcher.messages] == [child_id(parent, one) for one in "abc"]
    rig.step()
    rig.step()
    assert rig.get(parent).status is Status.BLOCKED
    rig.drain()
    assert rig.get(parent).status is Status.COMPLETED
    assert [text_of(rig, parent, one).splitlines()[1] for one in "abc"] == ["a done", "b done", "c done"]
    rig.check()


def test_a_failed_child_is_an_error_for_the_model(tmp_path: Path) -> None:
    """It says why, and the parent goes on."""
    fails = calls(("f", "fail_task", {"reason": "There is no such file."}))
    rig = rig_of(tmp_path, {"Do it.": [spawns("s1"), says("So be it.")], "Do s1.": [fails]})
    parent = rig.run()
    assert rig.get(parent).status is Status.COMPLETED
    assert rig.results(parent)["s1"]["is_error"]
    assert "There is no such file." in text_of(rig, parent, "s1")
    rig.check()


def test_a_subtask_is_asked_about_unless_a_rule_allows_it(tmp_path: Path) -> None:
    """It costs money: nothing is made before somebody has said yes, and all are asked about at once."""
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("a", "b"), says("Done.")], "Do a.": [says("a done")], "Do b.": [says("never")]},
    )
    parent = rig.run(allow=())
    prompts = rig.get(parent).prompts
    assert [prompt.tool_use_id for prompt in prompts] == ["a", "b"]
    assert rig.get(parent).children == ()
    rig.people.answer(parent, prompts[0].prompt_id, "yes")
    rig.people.answer(parent, prompts[1].prompt_id, "no")
    rig.drain()
    assert [one.task_id for one in rig.get(parent).children] == [child_id(parent, "a")]
    assert rig.results(parent)["b"]["is_error"]
    assert rig.get(parent).status is Status.COMPLETED
    rig.check()


def test_any_of_several_lets_the_parent_go_on(tmp_path: Path) -> None:
    """The others work on, and a second wait gets what came of them."""
    both = spawns("a", "b", wait=False)
    rig = rig_of(
        tmp_path,
        {
            "Do it.": [
                both,
                calls(("any", "wait_for_tasks", {"until": "any"})),
                calls(("all", "wait_for_tasks", {})),
                says("Done."),
            ],
            "Do a.": [says("a done")],
            "Do b.": [says("b done")],
        },
    )
    parent = rig.submit()
    rig.step()
    assert rig.get(parent).status is Status.RUNNING
    messages, rest = rig.dispatcher.messages, of_one(rig, parent)
    rig.drain()
    assert rig.get(parent).status is Status.BLOCKED
    messages[:] = rest[:1]
    rig.drain()
    assert "is not over" in text_of(rig, parent, "any")
    assert rig.get(parent).status is Status.BLOCKED
    messages[:] = rest[1:]
    rig.drain()
    assert "b done" in text_of(rig, parent, "all")
    assert rig.get(parent).status is Status.COMPLETED
    rig.check()


def test_depth_and_width_are_limited(tmp_path: Path) -> None:
    """What is over a limit is an error result, and makes nothing."""
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("a", "b"), says("Done.")], "Do a.": [spawns("deep"), says("a done")]},
        max_task_depth=1,
        max_children=1,
    )
    parent = rig.run()
    child = child_id(parent, "a")
    assert "max_children" in text_of(rig, parent, "b")
    assert "max_task_depth" in text_of(rig, child, "deep")
    assert rig.get(child).children == ()
    rig.check()


def test_a_turn_that_somebody_has_forestalled_makes_what_there_is_room_for(tmp_path: Path) -> None:
    """A person made a child while the model was writing: the rest is made, and the model is told of what was not."""

    class Forestalled(ByTask):
        def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
            reply = super().call(request, on_delta, interrupt)
            if not rig.get(parent).children:
                rig.submit("Do mine.", parent_id=parent, depth=1)
            return reply

    replies = {"Do it.": [spawns("a", "b"), says("Done.")], "Do a.": [says("a done")], "Do mine.": [says("ok")]}
    rig = new_rig(tmp_path, Forestalled(replies), max_children=2)
    parent = rig.submit()
    rig.drain()
    assert len(rig.get(parent).children) == 2
    assert "a done" in text_of(rig, parent, "a")
    assert "2 subtasks, as many as max_children allows" in text_of(rig, parent, "b")
    assert rig.kinds(parent).count(EventKind.SUBTASK_SPAWNED) == 2
    assert rig.get(parent).status is Status.COMPLETED
    rig.check()


def test_a_child_works_inside_its_parents_directory_with_its_rights(tmp_path: Path) -> None:
    """A directory outside, and a tier that there is not, are refused; limits come out of the parent's."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "way").symlink_to("/")
    rig = rig_of(
        tmp_path,
        {
            "Do it.": [
                spawns("up", working_dir=".."),
                spawns("link", working_dir="way"),
                spawns("tier", model="huge"),
                spawns("dear", max_cost_usd=1_000),
                spawns("fits", working_dir="sub", max_cost_usd=0.5, max_turns=3),
                says("Done."),
            ],
            "Do fits.": [says("ok")],
        },
    )
    parent = rig.run(priority=1, labels={"team": "web"})
    for one in ("up", "link", "tier", "dear"):
        assert rig.results(parent)[one]["is_error"]
    spec = rig.get(child_id(parent, "fits")).spec
    assert spec.working_dir == str(tmp_path / "sub")
    assert (spec.limits.max_turns, spec.limits.max_cost_microusd) == (3, 500_000)
    assert (spec.priority, spec.labels, spec.allow, spec.depth) == (1, {"team": "web"}, ("*",), 1)
    rig.check()


@pytest.mark.parametrize("how", ["cancel", "orphan"])
def test_what_becomes_of_children_when_their_parent_is_over(tmp_path: Path, how: str) -> None:
    """They are cancelled with it, or go on by themselves."""
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("a", wait=False, on_parent_end=how), says("Done.")], "Do a.": [says("a done")]},
    )
    parent = rig.submit()
    rig.step()
    others = of_one(rig, parent)
    rig.drain()
    assert rig.get(parent).status is Status.COMPLETED
    rig.dispatcher.messages[:] = others
    rig.drain()
    child = rig.get(child_id(parent, "a"))
    assert child.status is (Status.CANCELLED if how == "cancel" else Status.COMPLETED)
    rig.check()


def test_a_cancel_reaches_children_at_work_and_their_children(tmp_path: Path) -> None:
    """Who has a lease finds a flag; who has none is over at once."""
    rig = rig_of(tmp_path, {"Do it.": [spawns("a")], "Do a.": [spawns("b")], "Do b.": []})
    parent = rig.submit()
    rig.step()
    rig.step()
    grandchild = child_id(child_id(parent, "a"), "b")
    lease = rig.kit.claim(grandchild)
    rig.people.cancel(parent, "no more")
    assert rig.get(child_id(parent, "a")).status is Status.CANCELLED
    assert rig.get(grandchild).cancel_requested
    rig.kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert rig.get(grandchild).status is Status.CANCELLED
    rig.check()


def text_of(rig: Rig, task_id: str, call: str) -> str:
    content = rig.results(task_id)[call]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def of_one(rig: Rig, task_id: str) -> list[tuple[str, int]]:
    """Keep the messages of one task alone; returns the others."""
    messages = rig.dispatcher.messages
    others = [one for one in messages if one[0] != task_id]
    messages[:] = [one for one in messages if one[0] == task_id]
    return others


def test_a_tree_spends_one_pool(tmp_path: Path) -> None:
    """What children cost counts for those above: a child past the rest fails, and so does its parent's next call."""
    rig = rig_of(
        tmp_path,
        {"Do it.": [spawns("a", "b"), says("never")], "Do a.": [says("a done")], "Do b.": [spawns("never")]},
    )
    parent = rig.run(limits=Limits(max_turns=50, max_cost_microusd=200))
    assert rig.get(child_id(parent, "a")).status is Status.COMPLETED
    child = rig.get(child_id(parent, "b"))
    assert child.status is Status.FAILED
    assert isinstance(child.detail, FailedDetail)
    assert f"The money of {parent} with its subtasks is used up" in child.detail.error
    record = rig.get(parent)
    assert record.status is Status.FAILED
    assert (record.counters.cost_microusd, record.below_microusd) == (100, 100)
    assert isinstance(record.detail, FailedDetail)
    assert "spent $0.0002 with its subtasks, its limit is $0.0002" in record.detail.error
    rig.check()

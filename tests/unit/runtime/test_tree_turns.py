"""A limit of turns over a task and all that is below it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from test_subtasks import ByTask, Replies, rig_of, spawns, text_of

from neuraphage.decide.children import child_id
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import FailedDetail, Status
from neuraphage.ports import Delta, Interrupt
from turnkit import Killed, calls, new_rig, says


def test_a_tree_takes_no_more_turns_than_it_may_and_goes_on_with_more(tmp_path: Path) -> None:
    """Its child fails and says whose limit it is, so does the parent; with a higher limit both go on."""
    looks = calls(("look", "list_dir", {"path": "."}))
    rig = rig_of(tmp_path, {"Do it.": [spawns("a"), says("Done.")], "Do a.": [looks, says("a done")]}, max_turns=5)
    parent = rig.run(limits=Limits(max_tree_turns=2))
    child = child_id(parent, "a")
    for task_id in (parent, child):
        detail = rig.get(task_id).detail
        assert isinstance(detail, FailedDetail)
        assert f"{parent} with its subtasks has taken 2 turns, its limit for all of them is 2" in detail.error
        assert f"limit {parent} --max-tree-turns 4" in detail.error
    assert rig.get(parent).tree_turns == 2
    rig.people.limit(parent, LimitChange(max_tree_turns=4))
    rig.people.retry(child)
    rig.people.retry(parent)
    rig.drain()
    assert [rig.get(task_id).status for task_id in (parent, child)] == [Status.COMPLETED] * 2
    assert "has taken 2 turns" in text_of(rig, parent, "a")
    assert rig.get(parent).tree_turns == 4
    rig.check()


class Deadly(ByTask):
    """Kills its process once, when a call of the child is on its way."""

    def __init__(self, replies: Replies) -> None:
        super().__init__(replies)
        self.killed = False

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        if request.messages[0]["content"][0]["text"] == "Do a." and not self.killed:
            self.killed = True
            raise Killed
        return super().call(request, on_delta, interrupt)


def test_a_death_neither_loses_nor_doubles_a_turn(tmp_path: Path) -> None:
    """The worker dies behind the announcement, and the next one sends the call again: within the limit still."""
    rig = new_rig(tmp_path, Deadly({"Do it.": [spawns("a"), says("Done.")], "Do a.": [says("a done")]}))
    parent = rig.submit(limits=Limits(max_tree_turns=3))
    rig.step()
    rig.dies()
    child = child_id(parent, "a")
    assert (rig.get(parent).tree_turns, rig.get(child).tree_turns) == (2, 1)
    rig.recover(child).drain()
    assert rig.get(parent).status is Status.COMPLETED
    assert (rig.get(parent).tree_turns, rig.get(child).tree_turns) == (3, 1)
    rig.check()

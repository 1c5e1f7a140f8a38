"""What the model is told of git: where it stands in the conversation, and that no earlier byte changes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from neuraphage.decide.compaction import planned
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.git_notes import GIT, git_note
from neuraphage.model.git_state import GitState
from neuraphage.redaction.redactor import Redactor
from neuraphage.tools.turn_files import LocalTurnFiles
from turnkit import FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
CLEAN = GitState("main", "1" * 10, 0, 0)
BUSY = GitState("main", "1" * 10, 2, 1)


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[GitState | None]:
    """What git says from now on: the first of them, which a test changes."""
    said: list[GitState | None] = [CLEAN]
    monkeypatch.setattr(LocalTurnFiles, "git_state", lambda *_: said[0])
    return said


def dies(*_: Any) -> Any:
    raise Killed


def told(rig: Rig) -> list[str]:
    return [text for text in texts(rig.model.requests[-1].messages) if text.startswith(GIT)]


def test_it_is_told_at_the_start_and_when_a_person_writes(make_rig: MakeRig, states: list[GitState | None]) -> None:
    """Behind all that was there before; over turns, a death and a recovery each request begins with the former one."""
    steps = [calls(("t0", "act", {})), dies, says("Done."), says("Again."), says("And again.")]
    rig = make_rig(*steps, extra=[FakeTool()])
    task_id = rig.submit(working_dir=str(rig.folder))
    rig.step()
    states[0] = BUSY  # by the task's own doing
    rig.dies()
    rig.recover(task_id).drain()
    assert told(rig) == [f"{GIT}branch main at 1111111111; clean"]
    rig.people.send(task_id, "Go on.", key="1")
    rig.drain()
    assert told(rig)[1:] == [f"{GIT}branch main at 1111111111; 2 files changed, 1 untracked"]
    rig.people.send(task_id, "And on.", key="2")
    rig.drain()
    assert len(told(rig)) == 2, "what was said last still holds"
    for former, later in pairwise(rig.model.requests):
        assert later.messages[: len(former.messages) - 1] == former.messages[:-1]
        assert (
            later.messages[len(former.messages) - 1]["content"][: len(former.messages[-1]["content"])]
            == (former.messages[-1]["content"])
        )
        assert later.system == former.system


def test_a_name_of_a_branch_is_redacted(make_rig: MakeRig, states: list[GitState | None]) -> None:
    """As all that is stored; and nothing is said without a directory, or of none."""
    rig = make_rig(says("Done."), says("Done."), says("Done."), redactor=Redactor(secrets=["hunter2222"]))
    states[0] = GitState("for-hunter2222", "", 0, 0)
    rig.run(working_dir=str(rig.folder))
    assert len(told(rig)) == 1
    assert "hunter2222" not in str(told(rig))
    states[0] = None
    rig.run(working_dir=str(rig.folder))
    assert told(rig) == []
    states[0] = CLEAN
    rig.run(working_dir=None)
    assert told(rig) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (GitState("main", "", 1, 0), "branch main without a commit yet; 1 file changed"),
        (GitState("", "ab", 0, 3, more=True), "no branch checked out at ab; 3 untracked and more"),
        (GitState("x", "ab"), "branch x at ab; what is changed was not known in time"),
    ],
)
def test_the_words(state: GitState, words: str) -> None:
    """One line each, whatever a branch is called."""
    assert git_note([], state) == GIT + words


def test_a_summary_does_not_say_it_as_a_persons_words() -> None:
    """It is ours; and behind a summary, which does not hold it, it is told anew."""
    note = {"role": "user", "content": [{"type": "text", "text": git_note([], CLEAN)}]}
    said = {"role": "user", "content": [{"type": "text", "text": "Make it blue. " + "word " * 100}]}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "word " * 5_000}]}
    entries = [said, reply, note, said, reply, said, reply, said]
    plan = planned(entries, ContextBounds(10_000, 5_000, 4_000, 100, 1), refused=True)
    assert plan is not None
    assert plan.said
    assert GIT not in str(plan.said)
    assert git_note(entries, CLEAN) is None
    point = {"role": "user", "content": [], "compaction": plan.model_dump(mode="json")}
    assert git_note([*entries, point], CLEAN) is not None

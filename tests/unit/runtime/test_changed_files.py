"""What somebody else writes into a file is never overwritten: in real turns, with people, and after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.decide.approved_file import approved_file
from neuraphage.errors import PromptNotOpen
from neuraphage.model.effect import tool_effect
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.ports import Signal, SignalKind, SignalVerdict
from neuraphage.tools import atomic_write, freshness
from turnkit import Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
READ = ("r1", "read_file", {"path": "a.txt"})
EDIT = ("e1", "edit", {"path": "a.txt", "old_string": "old", "new_string": "new"})
WRITE = ("w1", "write_file", {"path": "a.txt", "content": "ours\n"})
THEIRS = "old, and a person's line\n"


def meanwhile(act: Callable[[], object], reply: ModelReply) -> Any:
    """A model whose reply takes so long that somebody works on the files."""

    def step(*_: object) -> ModelReply:
        act()
        return reply

    return step


@pytest.mark.parametrize("call", [EDIT, WRITE], ids=["edit", "write"])
def test_a_change_since_the_read_is_kept(make_rig: MakeRig, call: tuple[str, str, dict[str, str]]) -> None:
    """The call says so; after another read the same call is made."""
    again = ("x2", call[1], call[2])
    kept: list[str] = []
    rig = make_rig(
        calls(READ),
        meanwhile(lambda: path.write_text(THEIRS, encoding="utf-8"), calls(call)),
        meanwhile(lambda: kept.append(path.read_text(encoding="utf-8")), calls(("r2", *READ[1:]), again)),
        says("Done."),
    )
    path = rig.folder / "a.txt"
    path.write_text("old\n", encoding="utf-8")
    task_id = rig.run()
    result = rig.results(task_id)[call[0]]
    assert result["is_error"]
    assert "has changed since it was last read or written" in result["content"]
    assert kept == [THEIRS]
    assert not rig.results(task_id)["x2"].get("is_error")
    assert path.read_text(encoding="utf-8") == ("ours\n" if call is WRITE else THEIRS.replace("old", "new"))


def test_a_change_by_a_command_of_the_task_is_read_again_too(make_rig: MakeRig) -> None:
    """A formatter may have made anything of the file."""
    run = ("c1", "run_command", {"command": "echo formatted >> a.txt"})
    rig = make_rig(calls(READ, run, EDIT), says("Done."))
    (rig.folder / "a.txt").write_text("old\n", encoding="utf-8")
    assert "has changed since" in rig.results(rig.run())["e1"]["content"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "old\nformatted\n"


def test_a_file_that_nobody_read_is_not_overwritten(make_rig: MakeRig) -> None:
    """A new file is made all the same."""
    new = ("w2", "write_file", {"path": "b.txt", "content": "new\n"})
    rig = make_rig(calls(WRITE, new), says("Done."))
    (rig.folder / "a.txt").write_text("theirs\n", encoding="utf-8")
    result = rig.results(rig.run())
    assert "exists already and was not read" in result["w1"]["content"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "theirs\n"
    assert (rig.folder / "b.txt").read_text(encoding="utf-8") == "new\n"


@pytest.mark.parametrize("limits", [[{"limit": 2}], [{"limit": 1}, {"offset": 3}]])
def test_a_file_that_was_read_in_part_is_edited_but_not_replaced(
    make_rig: MakeRig, limits: list[dict[str, int]]
) -> None:
    """Replacing it would lose lines that the model has never seen."""
    reads = [(f"r{n}", "read_file", {"path": "a.txt", **limit}) for n, limit in enumerate(limits)]
    rig = make_rig(calls(*reads, WRITE, EDIT), says("Done."))
    (rig.folder / "a.txt").write_text("old\ntwo\nthree\n", encoding="utf-8")
    result = rig.results(rig.run())
    assert "was not shown in full" in result["w1"]["content"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "new\ntwo\nthree\n"


def test_a_file_read_in_two_parts_is_replaced(make_rig: MakeRig) -> None:
    """All of it was shown."""
    parts = [("r1", "read_file", {"path": "a.txt", "limit": 1}), ("r2", "read_file", {"path": "a.txt", "offset": 2})]
    rig = make_rig(calls(*parts, WRITE), says("Done."))
    (rig.folder / "a.txt").write_text("old\ntwo\n", encoding="utf-8")
    rig.run()
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "ours\n"


def test_a_secret_that_was_not_shown_is_not_written_over(make_rig: MakeRig) -> None:
    """The model saw a stand-in; with the whole file it would write that where the key was."""
    key = "sk-ant-api03-" + "Ab1_" * 24
    rig = make_rig(calls(READ, WRITE, EDIT), says("Done."))
    (rig.folder / "a.txt").write_text(f"old\nKEY={key}\n", encoding="utf-8")
    result = rig.results(rig.run())
    assert "a secret was taken out" in result["w1"]["content"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == f"new\nKEY={key}\n"


def test_a_deleted_file_is_not_made_again_unasked(make_rig: MakeRig) -> None:
    """A look at the empty place is enough."""
    remove = ("c1", "run_command", {"command": "unlink a.txt"})
    rig = make_rig(calls(READ, remove, WRITE), calls(("r2", *READ[1:]), ("w2", *WRITE[1:])), says("Done."))
    (rig.folder / "a.txt").write_text("old\n", encoding="utf-8")
    result = rig.results(rig.run())
    assert "is gone" in result["w1"]["content"]
    assert not result["w2"].get("is_error")


# --- people ----------------------------------------------------------------------------------------------


def asked(rig: Rig, text: str = "old\n") -> tuple[str, list[str]]:
    """A task that waits for permission, and its prompts in order of their calls."""
    (rig.folder / "a.txt").write_text(text, encoding="utf-8")
    task_id = rig.run(allow=())
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    return task_id, [p.prompt_id for p in sorted(rig.get(task_id).prompts, key=lambda p: p.tool_use_id or "")]


def approve(rig: Rig, task_id: str, prompts: list[str]) -> None:
    for prompt in prompts:
        rig.people.answer(task_id, prompt, "yes")
    rig.drain()


def shown_hash(rig: Rig, task_id: str, call: str) -> str | None:
    """The digest of the file as a person was asked about it."""
    state = approved_file(tool_effect(rig.journal(task_id), call))
    assert state is not None
    return state.sha256


@pytest.mark.parametrize("call", [EDIT, WRITE], ids=["edit", "write"])
def test_a_change_between_the_prompt_and_the_approval_is_kept(
    make_rig: MakeRig, call: tuple[str, str, dict[str, str]]
) -> None:
    """What was approved was another change; this one can only fail, so nobody is asked, and the model is told."""
    rig = make_rig(calls(READ, call), says("Done."))
    task_id, prompts = asked(rig)
    (rig.folder / "a.txt").write_text(THEIRS, encoding="utf-8")
    approve(rig, task_id, prompts)
    result = rig.results(task_id)[call[0]]
    assert result["is_error"]
    assert "has changed since it was last read or written" in result["content"]
    assert "PermissionVoided" in rig.kinds(task_id)
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == THEIRS


@pytest.mark.parametrize("call", [EDIT, WRITE], ids=["edit", "write"])
def test_a_changed_file_is_asked_about_anew(make_rig: MakeRig, call: tuple[str, str, dict[str, str]]) -> None:
    """By another prompt, about the file as it is now: its yes writes, and a late one to the first writes nothing."""
    again = ("x2", call[1], call[2])
    rig = make_rig(calls(READ, call), calls(("r2", *READ[1:]), again), says("Done."))
    path = rig.folder / "a.txt"
    task_id, [first] = asked(rig)
    assert shown_hash(rig, task_id, call[0]) == freshness.digest(b"old\n")
    path.write_text(THEIRS, encoding="utf-8")
    approve(rig, task_id, [first])
    [prompt] = rig.get(task_id).prompts
    assert (prompt.tool_use_id, prompt.prompt_id == first) == ("x2", False)
    assert shown_hash(rig, task_id, "x2") == freshness.digest(THEIRS.encode())
    with pytest.raises(PromptNotOpen):
        rig.people.answer(task_id, first, "yes")
    late = rig.store.signal(task_id, Signal(SignalKind.ANSWER, "late", "yes", first))  # past what the service refuses
    assert late.verdict is SignalVerdict.PROMPT_NOT_OPEN
    rig.drain()
    assert path.read_text(encoding="utf-8") == THEIRS
    assert [p.prompt_id for p in rig.get(task_id).prompts] == [prompt.prompt_id]
    approve(rig, task_id, [prompt.prompt_id])
    assert not rig.results(task_id)["x2"].get("is_error")
    assert path.read_text(encoding="utf-8") == ("ours\n" if call is WRITE else THEIRS.replace("old", "new"))


def test_an_approval_does_not_hold_for_what_the_model_read_after_it(make_rig: MakeRig) -> None:
    """Both prompts open at once; the read between them makes the change known to the model, not to the person, who is
    asked anew, about the file as it is now; what they allow then is made."""
    first = ("d1", "run_command", {"command": "true"})
    rig = make_rig(calls(("a0", *READ[1:]), first, ("d2", *READ[1:]), EDIT), says("Done."))
    task_id, prompts = asked(rig)
    (rig.folder / "a.txt").write_text(THEIRS, encoding="utf-8")
    approve(rig, task_id, prompts)
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == THEIRS
    (anew,) = rig.get(task_id).prompts
    assert (anew.tool_use_id, anew.prompt_id in prompts) == ("e1", False)
    assert "It was allowed before, but its file has changed since." in anew.text
    assert shown_hash(rig, task_id, "e1") == freshness.digest(THEIRS.encode())
    approve(rig, task_id, [anew.prompt_id])
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == THEIRS.replace("old", "new")


def test_a_file_that_comes_to_be_between_prompt_and_approval_is_kept(make_rig: MakeRig) -> None:
    """The person approved a new file."""
    rig = make_rig(calls(("w1", "write_file", {"path": "b.txt", "content": "ours"})), says("Done."))
    task_id, prompts = asked(rig)
    (rig.folder / "b.txt").write_text(THEIRS, encoding="utf-8")
    approve(rig, task_id, prompts)
    assert "exists already and was not read" in rig.results(task_id)["w1"]["content"]
    assert (rig.folder / "b.txt").read_text(encoding="utf-8") == THEIRS


def test_several_approved_edits_of_one_file_are_all_made(make_rig: MakeRig) -> None:
    """The second prompt was opened before the first edit: what the task itself has done since is no surprise."""
    second = ("e2", "edit", {"path": "a.txt", "old_string": "two", "new_string": "2"})
    third = ("e3", "edit", {"path": "a.txt", "old_string": "new", "new_string": "newer"})
    rig = make_rig(calls(READ, EDIT, second, third), says("Done."))
    task_id, prompts = asked(rig, "old\ntwo\n")
    approve(rig, task_id, prompts)
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "newer\n2\n"


def test_nobody_is_asked_about_a_call_that_can_only_fail(make_rig: MakeRig) -> None:
    """An unread file: the refusal comes at once, without a prompt."""
    rig = make_rig(calls(WRITE), says("Done."))
    (rig.folder / "a.txt").write_text("theirs\n", encoding="utf-8")
    task_id = rig.run(allow=())
    assert rig.get(task_id).status is Status.COMPLETED
    assert "exists already" in rig.results(task_id)["w1"]["content"]


# --- recovery --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("call", [EDIT, WRITE], ids=["edit", "write"])
@pytest.mark.parametrize("by_person", [True, False])
def test_a_killed_write_is_no_change_of_somebody_else(
    make_rig: MakeRig,
    monkeypatch: pytest.MonkeyPatch,
    done: bool,
    call: tuple[str, str, dict[str, str]],
    by_person: bool,
) -> None:
    """The next owner finds it made or makes it, and the call after it knows the file."""
    again = ("e9", "edit", {"path": "a.txt", "old_string": "r" if call is WRITE else "new", "new_string": "N"})
    rig = make_rig(calls(READ, call), calls(again), says("Done."))
    (rig.folder / "a.txt").write_text("old\n", encoding="utf-8")
    real = atomic_write.replace_file

    def killed(*args: Any) -> None:
        if done:
            real(*args)
        raise Killed

    allow: tuple[str, ...] = () if by_person else ("*",)
    task_id = rig.submit(allow=allow)
    if by_person:
        rig.drain()
        rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    with monkeypatch.context() as patch:
        patch.setattr("neuraphage.tools.change_tool.replace_file", killed)
        rig.dies()
    successor = rig.recover(task_id)
    successor.drain()
    if by_person:
        approve(successor, task_id, [p.prompt_id for p in successor.get(task_id).prompts])
    assert not any(result.get("is_error") for result in successor.results(task_id).values())
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == ("ouNs\n" if call is WRITE else "N\n")

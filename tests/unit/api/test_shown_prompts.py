"""Open prompts as the application service shows them: how much of a conversation is read, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from apikit import ApiBench
from neuraphage.api.shown_prompts import RECENT_ENTRIES
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.shown import CHANGED, UNREADABLE, ShownPrompt

PERMISSION = Prompt(
    prompt_id="p",
    kind=PromptKind.PERMISSION,
    text="May it run?",
    options=PERMISSION_OPTIONS,
    tool="run_command",
    tool_use_id="c1",
    params_summary="command='ls'",
)


def call(name: str, params: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": params}
    return {"role": "assistant", "content": [block]}


def result(text: str, call_id: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}


def words(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "x"}]}] * count


def shown(bench: ApiBench, *entries: dict[str, Any], prompt: Prompt = PERMISSION) -> ShownPrompt:
    record = bench.api.get(bench.api.submit("x", working_dir="/project")).model_copy(update={"prompts": (prompt,)})
    bench.rows.entries = list(entries)
    bench.rows.read.clear()
    (one,) = bench.api.shown_prompts(record)
    return one


@pytest.mark.parametrize(("behind", "reads"), [(0, 1), (RECENT_ENTRIES - 1, 1), (RECENT_ENTRIES, 2)])
def test_as_much_is_read_as_the_call_needs(behind: int, reads: int) -> None:
    """The end of a long conversation, and all of it where the call stands further back."""
    bench = ApiBench()
    one = shown(bench, *words(500), call("run_command", {"command": "make"}), *words(behind))
    assert one.shown == ["May it run?", "in /project", "$ make"]
    assert (one.is_whole, one.params) == (True, {"command": "make"})
    assert bench.rows.read.count("conversation") == reads


def test_a_change_is_shown_against_what_only_the_past_tells() -> None:
    """Where the file is not on this machine: the read of it may stand anywhere before."""
    write = call("write_file", {"path": "f", "content": "new\n"})
    past = [call("read_file", {"path": "f"}, "c0"), result("1\told", "c0"), *words(500)]
    assert "-old" in shown(ApiBench(), *past, write).shown
    assert "(the file as it is now is not known here)" in shown(ApiBench(), *words(500), write).shown


def test_what_cannot_be_read_is_said_to_be_missing() -> None:
    """The summary that is stored with the prompt stands there, and is not called the call."""
    one = shown(ApiBench(), *words(3))
    assert one.shown == ["May it run?", "in /project", "> run_command command='ls'", f"NOT SHOWN: {UNREADABLE}"]
    assert (one.is_whole, one.params) == (False, None)


def test_a_question_is_whole() -> None:
    """However it was shortened where it is stored; its line breaks stay."""
    asked = PERMISSION.model_copy(update={"kind": PromptKind.QUESTION, "tool": "ask_user", "text": "Wh..."})
    one = shown(ApiBench(), call("ask_user", {"question": "Why\u202e?\nReally?"}), prompt=asked)
    assert one.shown == ["Why<U+202E>?", "Really?"]


def test_a_task_that_asks_nothing_is_read_for_nothing() -> None:
    """Most tasks ask nothing."""
    bench = ApiBench()
    record = bench.api.get(bench.api.submit("x"))
    bench.rows.read.clear()
    assert (bench.api.shown_prompts(record), bench.rows.read) == ((), [])


def test_how_much_the_next_request_would_hold() -> None:
    """Messages as the API takes them: entries of one role in a row are one."""
    bench = ApiBench()
    task_id = bench.api.submit("x")
    bench.rows.entries = [*words(3), call("run_command", {"command": "make"}), result("made", "c1"), *words(2)]
    size = bench.api.context_size(task_id)
    assert (size.messages, size.turns, size.tokens_used) == (3, 0, 0)
    assert "3 messages" in str(size)
    assert {part.kind.value: part.count for part in size.parts} == {
        "system": 2, "instructions": 3, "said": 2, "calls": 1, "results": 1
    }  # fmt: skip
    assert size.window_tokens == 200_000
    assert [(one.tool, one.tool_use_id, one.shortened) for one in size.biggest] == [("run_command", "c1", False)]
    shorter = size.chars
    bench.rows.entries[4] = result("made" * 100, "c1")
    assert bench.api.context_size(task_id).chars == shorter + 4 * 99


def test_a_file_that_has_changed_is_told_with_the_call() -> None:
    """In the lines that every surface has."""
    one = ShownPrompt(PERMISSION, "May it run?", "/project", (("> edit f", ""),), is_changed=True)
    assert one.shown[-1] == CHANGED

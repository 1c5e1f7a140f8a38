"""The `hooks` commands: what is there, what one says, and what observers failed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_json_names import documented, paths

from clikit import Bench, CommandLine
from neuraphage.errors import BadInput
from neuraphage.model.observed import PutBy
from neuraphage.store.observers import RedisObservers

SOURCE = """
from neuraphage.hooks import answer, block, change, guard, observer

@guard("PreToolUse")
def judge(call):
    if call.tool == "push":
        return block("not today")
    return change(params={"n": 2}) if call.tool == "act" else answer("cached", is_error=False)

@guard("PreLLMCall")
def shorter(request):
    return change(max_tokens=10, system="Be brief.")

@observer("TaskCompleted")
def announce(event):
    raise OSError("the chat is away")

mine = [judge, shorter, announce]
no_hook = 5
"""


@pytest.fixture(autouse=True)
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with hooks, and a setting that names them."""
    (tmp_path / "hooks_of_test.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NEURAPHAGE_HOOKS", "hooks_of_test:mine")


def test_hooks_are_listed_with_the_points(cli: CommandLine) -> None:
    """In the order in which they are asked."""
    found = cli("hooks", "list", "--json").json
    assert [(one["name"], one["kind"]) for one in found["hooks"]] == [
        ("judge", "guard"), ("shorter", "guard"), ("announce", "observer"),
    ]  # fmt: skip
    assert len(found["points"]) == 30
    assert set(paths(found)) == documented("hooks list")
    assert "points of observers: TaskCreated" in cli("hooks", "list").out


def test_what_cannot_be_loaded_is_told(cli: CommandLine) -> None:
    """Which workers block everything for."""
    found = cli("hooks", "list", "--hook", "hooks_of_test:no_hook", "--hook", "nowhere:x")
    assert found.code == 1
    assert "hooks_of_test:no_hook: it is a int; decorate a function by @guard or @observer" in found.err
    assert "nowhere:x: it cannot be imported: ModuleNotFoundError" in found.err


def test_what_a_hook_says_is_shown(cli: CommandLine) -> None:
    """By a payload that the person has named in part."""
    blocked = cli("hooks", "test", "PreToolUse", "--payload", '{"tool": "push"}', "--json").json
    assert cli("hooks", "test", "PreToolUse", "--payload", '{"tool": "push"}').code == 1
    assert blocked["said"] == [{"name": "judge", "verdict": "block", "by": "judge", "reason": "not today"}]
    changed = cli("hooks", "test", "PreToolUse", "--payload", '{"tool": "act"}', "--json").json
    answered = cli("hooks", "test", "PreToolUse", "--json").json
    request = cli("hooks", "test", "PreLLMCall", "--json").json
    told = cli("hooks", "test", "TaskCompleted", "--json").json
    assert told["said"][0]["error"] == "it failed with OSError: the chat is away"
    names = {path for found in (blocked, changed, answered, request, told) for path in paths(found)}
    assert {name for name in names if not name.startswith("said[].params.")} == documented("hooks test")
    assert "no hook is asked at LoopIteration" in cli("hooks", "test", "LoopIteration").out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("PreToolUze",), "did you mean PreToolUse?"),
        (("PreToolUse", "--payload", "[]"), "an object is wanted"),
        (("PreToolUse", "--payload", "{"), "this is no JSON"),
        (("PreToolUse", "--payload", '{"turn": "x"}'), "turn: Input should be a valid integer"),
    ],
)
def test_what_cannot_be_tried_says_why(cli: CommandLine, arguments: tuple[str, ...], why: str) -> None:
    """Without a traceback."""
    ran = cli("hooks", "test", *arguments)
    assert ran.code == 2
    assert why in ran.err


def test_what_observers_failed_on_is_listed_and_told_again(cli: CommandLine, bench: Bench) -> None:
    """One by its name, or all whose tries are used up."""
    store = RedisObservers(bench.kit.store.context)
    assert store.begin("t", 60_000)
    rows = [
        PutBy(
            observer="announce", event_id=f"{n}-0", kind="TaskCompleted", attempts=5, error="away", data={"summary": ""}
        )
        for n in range(3)
    ]
    for row in rows:
        store.note("t", row.observer, None, row, 60_000)
    store.end("t")
    found = cli("hooks", "failed", "--json").json
    assert set(paths(found)) - {"failed[].data.summary"} == documented("hooks failed")
    assert "announce@1-0" in cli("hooks", "failed").out
    assert "1 to be told again" in cli("hooks", "retry", "announce@1-0").out
    assert "2 to be told again" in cli("hooks", "retry").out
    assert "nothing is to be told again" in cli("hooks", "retry").out
    assert "no observer failed on 'nobody'" in cli("hooks", "retry", "nobody").err
    with pytest.raises(BadInput, match="no observer failed"):
        bench.client.retry_hooks("nobody")
    assert len(bench.client.failed_hooks()) == 3

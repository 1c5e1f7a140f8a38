"""Hooks of installed packages and of the setting: found in one order, each once, and told of where they are none."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from neuraphage.hooks import loading
from neuraphage.hooks.guards import LoadedGuards
from neuraphage.hooks.loading import are_any, load_hooks
from neuraphage.model.hook import GUARD_POINTS, VerdictKind
from neuraphage.model.hook_payload import PreToolUse
from neuraphage.proc import named_objects

PLUGIN = """
from neuraphage.hooks import block, guard, observer

@guard("PreToolUse", "PermissionRequest")
def no_friday(call):
    return block("not on Fridays")

@observer("TaskCompleted")
def announce(event):
    pass

both = [no_friday, announce]
again = guard("PreToolUse", name="announce")(print)
function = print
"""
CALL = PreToolUse(task_id="t", tool="act", tool_use_id="t1", params={}, effect="pure")


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that announces its hooks."""
    (tmp_path / "friday_plugin.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints([EntryPoint("friday", "friday_plugin:both", loading.GROUP)])
    monkeypatch.setattr(named_objects, "entry_points", lambda group: points.select(group=group))


def test_a_package_announces_its_hooks() -> None:
    """They come before those of the setting; one that both name is loaded once."""
    loaded = load_hooks(["friday_plugin:both"])
    assert [hook.name for hook in loaded.hooks] == ["no_friday", "announce"]
    assert loaded.problems == ()
    said = LoadedGuards(loaded.hooks).judge(CALL, None)
    assert (said.verdict, said.by) == (VerdictKind.BLOCK, "no_friday")
    assert loaded.hooks[0](CALL).reason == "not on Fridays"


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("friday_plugin:again", "the name announce is taken by another hook"),
        ("friday_plugin:function", "decorate a function by @guard or @observer"),
        ("friday_plugin:nothing", "it cannot be imported: AttributeError"),
        ("nowhere_to_be_found:x", "it cannot be imported: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_loaded_blocks_everything(named: str, why: str) -> None:
    """It may be the guard that would have forbidden it."""
    loaded = load_hooks([named])
    assert why in loaded.problems[0]
    guards = LoadedGuards(loaded.hooks, loaded.problems)
    assert guards.points == frozenset(GUARD_POINTS)
    said = guards.judge(CALL, None)
    assert said.verdict is VerdictKind.BLOCK
    assert why in said.reason


def test_that_there_are_none_is_known_without_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """So beat sends nothing for nobody."""
    assert are_any([])
    monkeypatch.setattr(named_objects, "entry_points", lambda group: EntryPoints([]).select(group=group))
    assert not are_any([])
    assert are_any(["x:y"])

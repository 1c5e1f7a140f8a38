"""Scripts and their bindings: what is given is used, what is used is given, and by name alone."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from neuraphage.ports import Changes
from neuraphage.store import lua_constants
from neuraphage.store.bindings import BINDINGS, CHANGE_GROUPS, CHANGES, CLAIMING, FINISHING, SIGNALS
from neuraphage.store.encode import change_groups
from neuraphage.store.scripts import Script, script, source_of
from neuraphage.store.sentences import SENTENCES

LUA = {
    f.name.removesuffix(".lua"): f.read_text("utf-8")
    for f in files("neuraphage.store").iterdir()
    if f.name.endswith(".lua")
}
SHARED = {"prelude", "access", CHANGES, FINISHING, CLAIMING, SIGNALS}


def own_text(name: str) -> str:
    """A script's own file and those put before it, without comments."""
    texts = [*(LUA[part] for part in BINDINGS[name].parts), LUA[name]]
    return "\n".join(re.sub(r"--[^\n]*", "", text) for text in texts)


def test_every_script_is_bound_and_every_file_is_read() -> None:
    """A file without a binding would never run."""
    assert set(LUA) == set(BINDINGS) | SHARED


@pytest.mark.parametrize("name", BINDINGS)
def test_what_is_given_is_used_and_the_other_way_round(name: str) -> None:
    """A field that is not declared would be nil in Lua, and one that is not used says something untrue."""
    text, binding = own_text(name), BINDINGS[name]
    used = set(re.findall(r"\bgiven\.(\w+)", text))
    passed_whole = (
        {"events_max", "republish_ms", "exec_ms", "conversation_ms"} if re.search(r"\bgiven[,)]", text) else set()
    )
    by_name = {"max_turns", "max_cost_microusd"} if "given[name]" in text else set()
    declared = set(binding.argument_names)
    assert used <= declared | by_name
    assert declared <= used | passed_whole | by_name
    assert len(declared) == len(binding.arguments)
    said = set(re.findall(r"\bSAY\.(\w+)", text))
    assert said == set(SENTENCES.get(name, {}))
    for key in binding.keys:
        assert re.search(rf"\b{key}\b", text)


@pytest.mark.parametrize("name", LUA)
def test_nothing_is_counted_by_hand(name: str) -> None:
    """No key and no argument by its number, and no sentence for people."""
    text = re.sub(r"--[^\n]*", "", LUA[name])
    assert not re.search(r"\b(KEYS|ARGV)\[\d", text)
    lines = [line for line in text.splitlines() if not re.search(r"redis\.error_reply|\berror\(", line)]
    assert not [quoted for line in lines for quoted in re.findall(r"'([^']*)'", line) if quoted.count(" ") > 2]


def test_a_word_that_there_is_not_is_a_fault_at_once() -> None:
    """A misspelt event, place or marker would be nil in Lua, and an error in the midst of a script."""
    with pytest.raises(ValueError, match="EVENT has no TaskPuased"):
        lua_constants.head("event(EVENT.TaskPuased, '{}')")
    assert lua_constants.head("return 1") == ""


def test_names_are_checked_before_anything_is_sent() -> None:
    """A missing argument, and one too many, are faults of the caller."""
    made: Script = script("resume")
    with pytest.raises(TypeError, match="resume takes key, by"):
        made._ordered({"key": "k"})
    given = dict.fromkeys(made.binding.argument_names, 1)
    assert made._ordered(given) == [1] * len(given)
    with pytest.raises(TypeError, match=r"given: .*other"):
        made._ordered(given | {"other": 1})


def test_groups_are_passed_in_the_order_that_lua_reads() -> None:
    """Both sides go by one table."""
    assert change_groups(Changes()) == [0] * len(CHANGE_GROUPS)
    for name, width in CHANGE_GROUPS.items():
        assert f"{{ '{name}', {width} }}" in source_of("commit")

"""Scripts and their bindings: what is given is used, what is used is given, and by name alone."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from neuraphage.model.effect import MODEL_ENTRY
from neuraphage.model.place import Place
from neuraphage.model.task import Status
from neuraphage.ports import Changes
from neuraphage.store import lua_constants, sentences
from neuraphage.store.bindings import (
    BINDINGS,
    CHANGE_GROUPS,
    CHANGES,
    CHILDREN,
    CLAIMING,
    CREATING,
    EDGES,
    FINISHING,
    GAUGE,
    HEARD,
    LOCKS,
    MONEY,
    SIGNALS,
    SLOT_CHECKS,
    SLOTS,
    SPAWNING,
    TREE_TURNS,
    WAKING,
)
from neuraphage.store.encode import change_groups
from neuraphage.store.keys import TASK_KEY_NAMES
from neuraphage.store.scripts import Script, script, source_of
from neuraphage.store.sentences import SENTENCES

LUA = {
    f.name.removesuffix(".lua"): f.read_text("utf-8")
    for f in files("neuraphage.store").iterdir()
    if f.name.endswith(".lua")
}
OTHERWISE_USED = {"pause", "cancel", "list", "model", "money", "limit", "deadline"}
"""Words that are something else too: flags and the model are fields of the record, a list is a type of keys, money is
why a task is paused, the limit of a pool is a field of it, and a deadline is a verdict that is kept for `why`."""
OF_FIELDS = {"^%d+ [ml] ", "^(%d+)( .*)$", " d", " m ", " l ", "used ", "reserved ", "(%S+) (%S+) (%S+)"}
OF_FIELDS |= {"(%S+) (%S+) (%S+) (%S+)"}
OF_FIELDS |= {
    "w%s %s%015.0f %.0f %s",
    "round ",
    "next ",
    "^w(%d [^ ]* [^ ]*) ",
    "^%d [^ ]* ",
    "^p[^ ]* (.*)$",
    " (%d+) [^ ]+$",
}
"""Parts of names of fields and members with blanks in them: of the ledger, pools, edges, locks and the line."""
SHARED = {"prelude", "access", CHANGES, EDGES, LOCKS, WAKING, FINISHING, CLAIMING, GAUGE, HEARD, MONEY, SIGNALS}
SHARED |= {CHILDREN, CREATING, SPAWNING, SLOTS, SLOT_CHECKS, TREE_TURNS}


_TOKEN = re.compile(r"""--[^\n]*|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\[\[(.*?)\]\]""", re.DOTALL)
"""A comment, or a quoted text in one of Lua's three ways; what comes first holds the others."""


def without_comments(text: str) -> str:
    """The text of a script as Lua runs it."""
    return _TOKEN.sub(lambda found: "" if found[0].startswith("--") else found[0], text)


def quoted(text: str) -> list[str]:
    """Every quoted text of a script."""
    found = [one.groups() for one in _TOKEN.finditer(text)]
    return [next(part for part in parts if part is not None) for parts in found if any(p is not None for p in parts)]


def is_for_people(text: str) -> bool:
    """Whether it holds words with a space at them, or ends as a sentence does."""
    return bool(re.search(r"[A-Za-z]", text) and " " in text) or bool(re.search(r"[a-z]{2}[.!?]$", text))


def own_text(name: str) -> str:
    """A script's own file and those put before it, without comments."""
    return "\n".join(without_comments(LUA[part]) for part in (*BINDINGS[name].parts, name))


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
    by_name = {"max_turns", "max_cost_microusd", "max_running_ms"} if "given[name]" in text else set()
    declared = set(binding.argument_names)
    assert used <= declared | by_name
    assert declared <= used | passed_whole | by_name
    assert len(declared) == len(binding.arguments)
    for key in binding.keys:
        assert re.search(rf"\b{key}\b", text)


@pytest.mark.parametrize("name", LUA)
def test_nothing_is_counted_by_hand(name: str) -> None:
    """No key and no argument by its number."""
    assert not re.search(r"\b(KEYS|ARGV)\[\d", without_comments(LUA[name]))


@pytest.mark.parametrize("name", LUA)
def test_no_script_holds_a_sentence(name: str) -> None:
    """Nor a part of one, in an error or elsewhere: people are told by sentences.py, which has no sentence too many."""
    assert [text for text in quoted(LUA[name]) if is_for_people(text) and text not in OF_FIELDS] == []
    assert set(re.findall(r"\bSAY\.(\w+)", without_comments(LUA[name]))) == set(SENTENCES.get(name, {}))


@pytest.mark.parametrize(
    "line",
    [
        "return redis.error_reply('NOPERM this user may not run ' .. command)",
        'tell("no place")',
        "error('no move from ' .. row.status)",
        "tell([[no place]])",
        "tell('Failed.')",
        "tell('it''s -- gone')",
    ],
)
def test_a_sentence_is_known_wherever_it_stands(line: str) -> None:
    """In errors, in either kind of quotes, in few words, and in part."""
    assert any(map(is_for_people, quoted(line)))


def test_what_is_no_sentence_is_taken_for_none() -> None:
    """Marks between what is joined, patterns and JSON."""
    assert quoted("a('; ', '%d', '{\"name\":\"') -- 'a comment'") == ["; ", "%d", '{"name":"']
    assert not any(map(is_for_people, ["; ", " ", "", ">", "HGET", "^(%d+):(%d+)$", '{"name":"']))


def test_a_sentence_that_there_is_not_is_a_fault_at_once() -> None:
    """It would be nil in Lua."""
    with pytest.raises(ValueError, match="repair has no sentence misfits"):
        sentences.spelled_out("repair", "tell(SAY.misfits)")
    assert sentences.spelled_out("allowed", "error(SAY.refused)") == f"error('{SENTENCES['allowed']['refused']}')"


@pytest.mark.parametrize("name", LUA)
def test_no_script_spells_a_shared_word(name: str) -> None:
    """Statuses, places, reasons, evidence, targets, kinds: each has its home in Python, and stands here by its name."""
    words = {word.value for words in lua_constants.WORDS.values() for word in words} | {MODEL_ENTRY}
    assert [text for text in quoted(LUA[name]) if text in words - OTHERWISE_USED] == []
    tables = re.findall(r"[{,]\s*(\w+) = ", without_comments(LUA[name]))
    assert set(tables) & ({place.value for place in Place} | {status.value for status in Status}) == set()


def test_what_is_otherwise_used_is_nothing_else() -> None:
    """Each exception is still one: a script has it, as a field or as a type."""
    assert {text for script in LUA.values() for text in quoted(script)} >= OTHERWISE_USED | OF_FIELDS


def test_words_are_put_in_their_places() -> None:
    """By value, in one pass; a table of the same name stays."""
    assert lua_constants.spelled_out("if to == FINISH_TO.next then place(PLACE.waits) end") == (
        "if to == 'next' then place('waits') end"
    )
    assert lua_constants.spelled_out("STATUS_KEY[STATUS.Paused], MODEL_ENTRY") == "STATUS_KEY['Paused'], 'model'"
    whole = "{ outbox = OUTBOX, leases = LEASES, timers = TIMERS, waits = WAITS }"
    assert lua_constants.spelled_out("pairs(PLACES)") == f"pairs({whole})"
    assert {place.value.upper() for place in Place} <= set(TASK_KEY_NAMES)


def test_a_word_that_there_is_not_is_a_fault_at_once() -> None:
    """A misspelt event, place or marker would be nil in Lua, and an error in the midst of a script."""
    with pytest.raises(ValueError, match="EVENT has no TaskPuased"):
        lua_constants.spelled_out("event(EVENT.TaskPuased, '{}')")
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
    assert change_groups(Changes(), []) == [0] * len(CHANGE_GROUPS)
    for name, width in CHANGE_GROUPS.items():
        assert f"{{ '{name}', {width} }}" in source_of("commit")

"""What a person is shown of a call before they allow it: all of it, and every character of it can be seen."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from neuraphage.cli.asked_text import LISTED_CHARS, LISTED_LINES, listed
from neuraphage.cli.sending import refuse_unseen, without_unseen
from neuraphage.decide.asking import asks_line, meant, named, params_summary
from neuraphage.decide.call_lines import AskedCall, call_lines
from neuraphage.decide.seen_text import spelled
from neuraphage.errors import BadInput
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS

LONG_PATH = "".join(f"deep{number}/" for number in range(100)) + "passwd"
ASK = Prompt(prompt_id="0123abcd", kind=PromptKind.PERMISSION, text="May edit run?", options=PERMISSION_OPTIONS)
CHOICE = Prompt(prompt_id="0123abce", kind=PromptKind.QUESTION, text="Which?", options=("Red", "Blue"))


def asked(tool: str, params: dict[str, Any], before: str | None = None, *, is_absent: bool = False) -> AskedCall:
    return AskedCall(tool, params, BUILTIN_TRAITS.get(tool, ToolTraits()), before, is_absent)


def text_of(tool: str, params: dict[str, Any], before: str | None = None) -> str:
    return "\n".join(line for line, _ in call_lines(asked(tool, params, before)))


@pytest.mark.parametrize(
    ("tool", "params", "shown"),
    [
        ("write_file", {"path": LONG_PATH, "content": "x"}, f"> write_file {LONG_PATH}"),
        ("edit", {"path": LONG_PATH, "old_string": "a", "new_string": "b"}, f"> edit {LONG_PATH}"),
        ("run_command", {"command": "x\n" * 500 + "last"}, "last"),
        ("run_command", {"command": "ls", "timeout_ms": 7_000}, "timeout_ms = 7000"),
        ("edit", {"path": "f", "old_string": "a", "new_string": "b", "replace_all": True}, "in every place"),
        ("edit", {"path": "f", "old_string": "a", "new_string": "b", "mode": "0777"}, 'mode = "0777"'),
        ("of_a_plugin", {"url": "http://x", "n": list(range(300))}, "299"),
        ("write_file", {"path": "f", "content": "".join(f"{n}\n" for n in range(5_000))}, "+4999"),
    ],
)
def test_nothing_of_a_call_is_left_out(tool: str, params: dict[str, Any], shown: str) -> None:
    """Long paths, long commands, long files, and parameters that change what a call does."""
    assert shown in text_of(tool, params)


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("a\tb\n", "a    b\n", "look alike"),
        ("a\n", "a \n", "look alike"),
        ("caf\u00e9\n", "cafe\u0301\n", "look alike"),
        ("a\n", "a", "no newline at its end"),
        ("a", "a\n", "a newline at its end"),
        ("a\r\n", "a\n", "<U+000D>"),
    ],
)
def test_a_change_that_the_eye_does_not_see_is_told(before: str, after: str, note: str) -> None:
    """Blanks, line ends, and another spelling of the same character."""
    assert note in text_of("write_file", {"path": "f", "content": after}, before)
    moved = text_of("write_file", {"path": "f", "content": "b\nc\na\n"}, "a\nb\nc\n")
    assert "look alike" not in moved
    assert "no newline" not in moved


def test_a_file_that_is_not_there_yet_is_told() -> None:
    """Where that is known; where nothing is known of the file, that is said instead."""
    new = {"path": "f", "content": "x\n"}
    for content in ("x\n", ""):
        shown = call_lines(asked("write_file", {"path": "f", "content": content}, is_absent=True))
        assert [text for text, _ in shown[1:]] == [*(["+x"] if content else []), "(the file does not exist yet)"]
    assert "not known here" in text_of("write_file", new)
    assert "(the file" not in text_of("write_file", new, "y\n")


HIDDEN = (
    "\u202e\u2066\u200b\u00ad\ufeff\u2060\u00a0\u3164\u2800\u034f\ufe0f\x1b\x07\x9b\r\x7f\u2028\x85\U000e0041\U000e0100"
)


@pytest.mark.parametrize("character", HIDDEN)
def test_what_cannot_be_seen_stands_as_its_number(character: str) -> None:
    """Characters that turn directions, take no room, or steer a terminal; in commands, paths and diffs."""
    number = f"<U+{ord(character):04X}>"
    assert spelled(f"rm {character}x") == f"rm {number}x"
    for tool, params in (
        ("run_command", {"command": f"echo {character}"}),
        ("write_file", {"path": f"a{character}b", "content": ""}),
        ("write_file", {"path": "f", "content": f"a{character}b\n"}),
        ("of_a_plugin", {"text": f"a{character}b"}),
    ):
        text = text_of(tool, params)
        assert character not in text
        assert number in text or f"\\u{ord(character):04x}" in text or repr(character)[1:-1] in text
    assert spelled("caf\u00e9 \u00df \u6f22\u5b57 \U0001f600\n\t") == "caf\u00e9 \u00df \u6f22\u5b57 \U0001f600\n\t"


def test_every_character_without_a_shape_is_spelled() -> None:
    """The whole of Unicode, by its categories."""
    kinds = {"Cc", "Cf", "Zl", "Zp", "Zs", "Cn", "Co"}
    unseen = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) in kinds and chr(n) not in "\n\t "]
    assert [c for c in unseen if spelled(c) == c] == []


def test_a_listing_says_what_it_leaves_out() -> None:
    """The first lines of a long call, and the beginning of a long line; up to the limit nothing is missing."""
    lines = [(f"line {number}", "") for number in range(LISTED_LINES + 2)]
    shown = listed(lines)
    assert (shown.lines, shown.left_out) == (lines[:LISTED_LINES], "2 more lines, 16 characters")
    assert listed(lines[:LISTED_LINES]).left_out == ""
    wide = listed([("x" * (LISTED_CHARS + 5), "")])
    assert [len(text) for text, _ in wide.lines] == [LISTED_CHARS]
    assert wide.left_out == "1 more line, 5 characters"


def test_a_yes_to_what_was_not_shown_is_refused() -> None:
    """Whatever allows; a no needs nothing, and a question is no permission."""
    for answer in ("yes", "always"):
        with pytest.raises(BadInput, match="type v to see the rest first"):
            refuse_unseen([ASK], answer, ())
        refuse_unseen([ASK], answer, {ASK.prompt_id})
        refuse_unseen([CHOICE], answer, ())
    refuse_unseen([ASK], "no", ())


@pytest.mark.parametrize(
    ("typed", "word", "unseen"),
    [("yes unseen", "yes", True), ("y  unseen", "y", True), ("unseen", "unseen", False), ("yes", "yes", False)],
)
def test_the_word_for_not_having_looked(typed: str, word: str, *, unseen: bool) -> None:
    """Behind another one alone."""
    assert without_unseen(typed) == (word, unseen)


def test_one_line_names_the_path_before_a_long_text() -> None:
    """Whatever order the model wrote the parameters in."""
    summary = params_summary({"content": "x" * 5_000, "path": "src/main.py"}, BUILTIN_TRAITS["write_file"])
    assert asks_line(ASK.model_copy(update={"tool": "edit", "params_summary": summary})).startswith(
        "edit: path='src/main.py', content='xxx"
    )


def test_a_part_of_an_id_names_its_prompt() -> None:
    """The whole id always; a beginning if it is long enough to stay unique."""
    prompts = [ASK, CHOICE, ASK.model_copy(update={"prompt_id": "p"})]
    assert named(prompts, "p") == prompts[2:]
    assert named(prompts, "0123abcd") == [ASK]
    assert named(prompts, "0123") == [ASK, CHOICE]
    assert named(prompts, "012") == []
    assert named(prompts, "") == []


@pytest.mark.parametrize(
    ("prompt", "typed", "answer"),
    [
        (CHOICE, "2", "Blue"),
        (CHOICE, " red ", "Red"),
        (CHOICE, "3", None),
        (CHOICE, "", None),
        (CHOICE.model_copy(update={"options": ("2", "1")}), "1", "1"),
        (CHOICE.model_copy(update={"options": ("2", "7")}), "1", None),
        (CHOICE.model_copy(update={"options": ()}), "2", "2"),
        (ASK, "Y", "yes"),
        (ASK, "a", "always"),
        (ASK, "1", None),
        (ASK, "v", None),
    ],
)
def test_words_mean_the_same_everywhere(prompt: Prompt, typed: str, answer: str | None) -> None:
    """A number names an option, unless an option is a number itself; permissions have no numbers."""
    if answer is None:
        with pytest.raises(BadInput):
            meant(prompt, typed)
    else:
        assert meant(prompt, typed) == answer

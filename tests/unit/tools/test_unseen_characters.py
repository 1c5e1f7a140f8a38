"""What cannot be seen in a file or a name is told, and can be edited exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.read_tools import ListDirectory, ReadFile
from neuraphage.tools.search_tools import Glob, Grep
from neuraphage.tools.unseen_characters import NOTE_CHARS, unseen_note
from neuraphage.tools.write_tools import Edit

RED = "\x1b[31mred\x1b[0m"


def test_read_file_tells_of_them_and_shows_them_as_they_are(root: Path, context: ToolContext) -> None:
    """With the numbers of the lines that are shown; a line end that was taken off is none."""
    (root / "a.txt").write_bytes(f"one\r\n{RED}\r\na\rb\r\n{RED}\r\n\\x1b\tx\r\n".encode())
    lines = ReadFile().run({"path": "a.txt", "offset": 2}, context).text.split("\n")
    assert lines[0] == f"     2\t{RED}"
    assert lines[-1] == (
        "[characters that cannot be seen: U+000D CARRIAGE RETURN (line 3), U+001B ESCAPE (lines 2, 4); they stand in"
        " the text as they are, and in the JSON of a call they are written \\u000d]"
    )
    assert "cannot be seen" not in ReadFile().run({"path": "a.txt", "limit": 1}, context).text


def test_what_was_shown_is_what_an_edit_finds(root: Path, context: ToolContext, having_read) -> None:
    """The text of the result, copied, is the text of the file."""
    (root / "a.txt").write_text(f"x {RED} y\n", encoding="utf-8")
    shown = ReadFile().run({"path": "a.txt"}, context).text.split("\n")[0].partition("\t")[2]
    edit = {"path": "a.txt", "old_string": shown, "new_string": "plain"}
    assert not Edit().run(edit, having_read(root / "a.txt")).is_error
    assert (root / "a.txt").read_text(encoding="utf-8") == "plain\n"


def test_searches_and_lists_tell_of_them(root: Path, context: ToolContext) -> None:
    """In lines and in names."""
    (root / "a.txt").write_text(f"{RED}\n", encoding="utf-8")
    grep = Grep().run({"pattern": "red"}, context).text
    assert grep.startswith(f"a.txt:1:{RED}\n[characters that cannot be seen: U+001B ESCAPE;")
    (root / "b\x1b.py").write_text("x", encoding="utf-8")
    for text in (Glob().run({"pattern": "*.py"}, context).text, ListDirectory().run({"path": "."}, context).text):
        assert "U+001B ESCAPE" in text


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\u2028", "\x85", "\x9b", "\x7f", "\x0c"])
def test_others_that_hide_or_turn_a_text(character: str) -> None:
    """Characters that make source code look like another one."""
    assert f"U+{ord(character):04X}" in (unseen_note([f"a{character}b"]) or "")


@pytest.mark.parametrize(
    "text", ["a\tb", "caf\u00e9", "\U0001f468\u200d\U0001f469", "\u0645\u06cc\u200c\u062e", "\u00a0"]
)
def test_what_texts_need_is_no_matter(text: str) -> None:
    """Tabs, joiners of emoji and of Persian words, spaces that do not break."""
    assert unseen_note([text], 1) is None


def test_a_note_is_never_long() -> None:
    """However many there are of them."""
    every = "".join(chr(code) for code in range(0x2070) if code != 10)
    assert len(unseen_note([every] * 9_999, 123_456) or "") < NOTE_CHARS

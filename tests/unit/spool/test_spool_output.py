"""Shortening of output."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.terminal_text import shown_output
from neuraphage.redaction.redactor import Redactor
from neuraphage.spool.output import read_output, shorten, without_cut_end


def test_whole_when_it_fits(tmp_path):
    """Nothing is changed or noted at exactly the limit."""
    (tmp_path / "o").write_text("é" * 100, encoding="utf-8")
    assert read_output(tmp_path / "o", 100) == "é" * 100


def test_missing_file_is_empty(tmp_path):
    """A command that was ended before it wrote has no output."""
    assert read_output(tmp_path / "o", 100) == ""


def test_left_out_characters_are_counted():
    """Head, note and tail, with the number of characters between."""
    text = shorten("h" * 500 + "t" * 500, 180)
    assert text == "h" * 50 + "\n[... 900 characters of output left out ...]\n" + "t" * 50


def test_huge_file_is_not_read_whole(tmp_path):
    """Of a file far over the limit only head and tail are read (this one would not fit in memory)."""
    with (tmp_path / "o").open("wb") as file:
        file.write(b"head")
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write("…end".encode())
    text = read_output(tmp_path / "o", 200)
    assert text.startswith("head")
    assert text.endswith("…end")
    assert "[... 1,099,511," in text
    assert "bytes of output left out" in text
    assert len(text) <= 200


@pytest.mark.parametrize("redact", [None, str])
def test_left_out_bytes_are_counted(tmp_path, redact):
    """What is shown and what is left out make up the file, also where its middle is not read."""
    (tmp_path / "o").write_text("ä" * 500_000, encoding="utf-8")
    head, count, tail = re.split(
        r"\n\[\.\.\. ([\d,]+) bytes of output left out \.\.\.\]\n", read_output(tmp_path / "o", 200, redact)
    )
    assert int(count.replace(",", "")) + len((head + tail).encode()) == 1_000_000
    assert head == tail == "ä" * 60


@pytest.mark.parametrize("offset_bytes", range(5))
@pytest.mark.parametrize(("character", "count"), [("\r😀", 500_000), ("é", 30_000), ("語", 30_000), ("😀", 30_000)])
def test_output_is_never_cut_inside_a_character(tmp_path, character, count, offset_bytes):
    """Neither where the cut is shown, nor where folding brings what lies next to it into view."""
    (tmp_path / "o").write_bytes(b"." * offset_bytes + character.encode() * count)
    text = read_output(tmp_path / "o", 200)
    assert "\ufffd" not in text
    assert "left out" in text


@pytest.mark.parametrize("limit_chars", [0, -1])
def test_without_room_nothing_is_shown(tmp_path, limit_chars):
    """Not even the note."""
    (tmp_path / "o").write_text("words", encoding="utf-8")
    assert read_output(tmp_path / "o", limit_chars) == ""


def test_with_little_room_the_note_comes_first():
    """Where head and tail have no room, it says that there was more."""
    assert shorten("x" * 500, 60) == "\n[... 500 characters of output left out ...]\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one\ntwo words\nhalf of a", "one\ntwo words"),
        ("two words and ha", "two words and"),
        ("x" * 6_000, "x" * (6_000 - 4_096)),
        ("a\n" + "x" * 6_000, "a\n" + "x" * (6_000 - 4_096)),
        ("half", ""),
        ("", ""),
    ],
    ids=["lines", "words", "one word", "a line far before", "less than a word", "nothing"],
)
def test_the_end_of_what_was_cut_off_is_dropped(text, kept):
    """Its last line, or the last word of one line: it may be half of a secret. At most some thousand characters."""
    assert without_cut_end(text) == kept


@given(st.binary(max_size=3000), st.integers(-1, 700))
def test_never_over_the_limit_and_never_an_error(tmp_path_factory, content, limit_chars):
    """Any bytes and any limit give text inside the limit, and short text comes whole."""
    path = tmp_path_factory.getbasetemp() / "any-output"
    path.write_bytes(content)
    text = read_output(path, limit_chars)
    assert len(text) <= max(limit_chars, 0)
    whole = shown_output(content.decode(errors="replace"), None)
    if len(whole) <= limit_chars:
        assert text == whole
    elif limit_chars > 100:
        keep = (limit_chars - 80) // 2
        assert text.startswith(whole[:keep])
        assert text.endswith(whole[-keep:])


FRAMES = b"".join(b"\rcompiling %5d of 30000 [%-40s]" % (n, b"#" * (n // 750)) for n in range(30_000))


@pytest.mark.parametrize("frames", [FRAMES[:180_000], FRAMES])
def test_progress_pushes_nothing_out(tmp_path, frames):
    """Frames are folded before anything is cut: what stands before and after them is shown whole."""
    lines = b"".join(b"line %03d\n" % n for n in range(20))
    (tmp_path / "o").write_bytes(b"error: no such crate\n" + frames + b"\n" + lines)
    text = read_output(tmp_path / "o", 500, str)
    assert text.startswith("error: no such crate\ncompiling ")
    assert text.endswith(lines.decode())
    assert "left out" not in text


@pytest.mark.parametrize("progress_first", [True, False])
def test_progress_at_one_end_pushes_nothing_out_either(tmp_path, progress_first):
    """Where lines alone are at the other end, however many frames there are at the one."""
    lines = b"".join(b"line %03d\n" % n for n in range(2_000))
    frames = FRAMES[:400_000] + b"\n"
    (tmp_path / "o").write_bytes(frames + lines if progress_first else lines + frames)
    text = read_output(tmp_path / "o", 20_000, str)
    assert "left out" not in text
    assert text.count("line ") == 2_000
    assert text.count("compiling") == 1


def test_more_than_is_read_to_be_folded_is_shown_to_who_wants_more(tmp_path):
    """A reader with a large limit gets as much of an output with progress as of one without."""
    (tmp_path / "o").write_bytes(b"\rgone\r" + b"words\n" * 500_000)
    text = read_output(tmp_path / "o", 3_100_000)
    assert text.count("words") == 500_000


def test_more_progress_than_is_read_leaves_both_ends(tmp_path):
    """Of many megabytes of frames the last one is shown, and how much was not read is told."""
    (tmp_path / "o").write_bytes(b"error: first\n" + FRAMES * 5 + b"\nerror: last\n")
    text = read_output(tmp_path / "o", 2_000, str)
    assert text.startswith("error: first\n")
    assert text.endswith("error: last\n")
    assert text.count("compiling") <= 3
    assert "bytes of output left out" in text


@pytest.mark.parametrize("size", [10, 9_000_000])
def test_a_secret_that_progress_parts_is_not_shown(tmp_path, size):
    """Neither where all is read nor where the ends are."""
    key = "sk-ant-api03-" + "Ab1_" * 24
    noise = b"\r%3d %%" * (size // 5)
    (tmp_path / "o").write_bytes(key.encode() + b"\rX\n" + noise + b"\n" + key.encode() + b"\bY\n")
    text = read_output(tmp_path / "o", 2_000, Redactor().text)
    assert "Ab1_" not in text

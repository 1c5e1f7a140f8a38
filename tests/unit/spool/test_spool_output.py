"""Shortening of output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.terminal_text import shown_output
from neuraphage.redaction.redactor import Redactor
from neuraphage.spool.output import read_output, shorten


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

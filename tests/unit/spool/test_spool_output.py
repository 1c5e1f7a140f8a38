"""Shortening of output."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuraphage.spool.output import read_output, shorten


def test_whole_when_it_fits(tmp_path):
    """Nothing is changed or noted at exactly the limit."""
    (tmp_path / "o").write_text("é" * 100)
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
    assert "1,099,511,627," in text
    assert "bytes of output left out" in text
    assert len(text) <= 200


@given(st.binary(max_size=3000), st.integers(-1, 700))
def test_never_over_the_limit_and_never_an_error(tmp_path_factory, content, limit_chars):
    """Any bytes and any limit give text inside the limit, and short text comes whole."""
    path = tmp_path_factory.getbasetemp() / "any-output"
    path.write_bytes(content)
    text = read_output(path, limit_chars)
    assert len(text) <= max(limit_chars, 0)
    whole = content.decode(errors="replace")
    if len(whole) <= limit_chars:
        assert text == whole
    elif limit_chars > 100:
        keep = (limit_chars - 80) // 2
        assert text.startswith(whole[:keep])
        assert text.endswith(whole[-keep:])

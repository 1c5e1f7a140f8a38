"""read_file and list_directory: what they show, and a defined answer for everything that cannot be shown."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools import files
from neuraphage.tools.read_tools import ListDirectory, ReadFile


def read(context: ToolContext, path: str = "a.txt", **more: Any) -> str:
    result = ReadFile().run({"path": path, **more}, context)
    assert not result.is_error, result.text
    return result.text


def refused(context: ToolContext, path: str = "a.txt", **more: Any) -> str:
    result = ReadFile().run({"path": path, **more}, context)
    assert result.is_error, result.text
    return result.text


def test_lines_are_numbered(root: Path, context: ToolContext) -> None:
    """Each line shows as a number of width six, a tab, and the line."""
    (root / "a.txt").write_text("one\n\nthree", encoding="utf-8")
    assert read(context) == "     1\tone\n     2\t\n     3\tthree"


def test_offset_and_limit_choose_lines_and_count_the_rest(root: Path, context: ToolContext) -> None:
    """A part shows its own numbers, how many lines follow, and where to go on."""
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)), encoding="utf-8")
    text = read(context, offset=3, limit=2)
    assert text == "     3\tline 3\n     4\tline 4\n[6 lines left out below; go on with offset=5]"


def test_a_long_file_stops_at_a_whole_line_and_can_be_read_on(root: Path, context: ToolContext) -> None:
    """Following the offsets shows every line exactly once, each text within the limit."""
    lines = [f"{n} " + "x" * (n % 97) for n in range(1, 2_001)]
    (root / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    seen: list[str] = []
    while len(seen) < len(lines):
        text = read(context, offset=len(seen) + 1)
        assert len(text) <= context.output_limit_chars
        seen += [line.split("\t")[1] for line in text.split("\n") if "\t" in line]
    assert seen == lines


def test_one_huge_line_keeps_head_and_tail(root: Path, context: ToolContext) -> None:
    """A single line over the limit is shortened rather than refused."""
    (root / "a.txt").write_text("BEGIN" + "é" * 100_000 + "END", encoding="utf-8")
    text = read(context)
    assert len(text) <= context.output_limit_chars
    assert "BEGIN" in text
    assert text.endswith("END")
    assert "characters left out" in text


def test_an_offset_past_the_end_says_how_long_the_file_is(root: Path, context: ToolContext) -> None:
    """The error names the number of lines."""
    (root / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    assert "has 2 lines" in refused(context, offset=3)


def test_an_empty_file_is_no_error(root: Path, context: ToolContext) -> None:
    """Empty is said in words, as an empty text would look like a failure."""
    (root / "a.txt").touch()
    assert read(context) == "[a.txt is empty]"


def test_crlf_and_byte_order_mark_do_not_show_in_the_lines(root: Path, context: ToolContext) -> None:
    """The model sees clean lines and a note on the line ends."""
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read(context) == "     1\tone\n     2\ttwo\n[line ends: CRLF; edit keeps them]"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"ELF\0\1", "binary"),
        (b"ok\ncaf\xe9\n", "not UTF-8: byte 0xe9 on line 2"),
        ("hi".encode("utf-16"), "UTF-16"),
        ("hi".encode("utf-32"), "UTF-32"),
    ],
)
def test_what_is_no_utf8_text_is_named(root: Path, context: ToolContext, data: bytes, words: str) -> None:
    """Binary and foreign encodings are told apart, and none is guessed."""
    (root / "a.txt").write_bytes(data)
    assert words in refused(context)


def test_a_file_over_the_limit_is_refused_without_being_read(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file over 10 MB costs no memory."""
    with (root / "a.txt").open("wb") as file:
        file.truncate(files.MAX_FILE_BYTES + 1)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("the file was read"))
    assert "over the limit of 10 MB" in refused(context)


def test_a_file_that_grows_while_it_is_read_is_refused(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are counted, not only the size asked."""
    (root / "a.txt").write_text("small", encoding="utf-8")
    monkeypatch.setattr(os, "read", lambda _fd, size: b"x" * size)
    assert "over the limit" in refused(context)


def test_a_pipe_does_not_block(root: Path, context: ToolContext) -> None:
    """A FIFO without a writer is refused at once."""
    os.mkfifo(root / "a.txt")
    assert "named pipe" in refused(context)


def test_a_pipe_swapped_in_after_the_look_does_not_block(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kind is asked again of the opened file, and the open itself waits for no writer."""
    (root / "a.txt").write_text("regular", encoding="utf-8")
    real = os.open

    def swap(path: Any, *args: Any, **kwargs: Any) -> int:
        if path == "a.txt":
            (root / path).unlink()
            os.mkfifo(root / path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swap)
    assert "named pipe" in refused(context)


def test_a_socket_is_refused(root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket is named as one."""
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a.txt")
        assert "socket" in refused(context)


def test_a_device_is_refused(context: ToolContext) -> None:
    """A device is named as one (the working directory is /dev here, so it is no matter of places)."""
    inside_dev = ToolContext("task-1", "effect-1", "/dev", context.spool, context.interrupt)
    assert "character device" in refused(inside_dev, "null")


def test_a_file_that_vanishes_before_it_is_opened_is_an_answer(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gap between stat and open raises nothing."""
    (root / "a.txt").write_text("soon gone", encoding="utf-8")
    real = os.open

    def vanish(path: Any, *args: Any, **kwargs: Any) -> int:
        if path == "a.txt":
            (root / path).unlink()
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", vanish)
    assert "does not exist (or has just vanished)" in refused(context)


def test_missing_file_and_directory_are_told_apart(root: Path, context: ToolContext) -> None:
    """Each says which tool to use next."""
    (root / "sub").mkdir()
    assert "list_directory or glob" in refused(context, "nope")
    assert "it is a directory" in refused(context, "sub")


def test_no_permission_is_an_answer(root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of the system becomes text."""
    (root / "a.txt").write_text("x", encoding="utf-8")

    def deny(*_: Any, **__: Any) -> int:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(os, "open", deny)
    assert "permission denied" in refused(context)


def test_a_directory_is_listed_by_name_with_kinds(root: Path, context: ToolContext) -> None:
    """Directories, links, sizes and odd names show, one a line."""
    (root / "b.txt").write_text("four", encoding="utf-8")
    (root / "a").mkdir()
    (root / "link").symlink_to("b.txt")
    os.mkfifo(root / "pipe")
    (root / "two\nlines").touch()
    Path(os.fsdecode(os.fsencode(str(root)) + b"/raw\xff")).touch()
    result = ListDirectory().run({"path": "."}, context)
    assert result.text.split("\n") == [
        "a/", "b.txt 4", "link@", "pipe (special file)", "raw\\udcff 0", "two\\nlines 0",
    ]  # fmt: skip
    result.text.encode("utf-8")


def test_a_full_directory_counts_what_it_leaves_out(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cap is said, with the number."""
    monkeypatch.setattr("neuraphage.tools.read_tools.MAX_ENTRIES_SHOWN", 3)
    for n in range(5):
        (root / f"f{n}").touch()
    lines = ListDirectory().run({"path": "."}, context).text.split("\n")
    assert lines == ["f0 0", "f1 0", "f2 0", "[2 entries left out; use glob with a pattern]"]


def test_listing_a_file_or_nothing_is_an_answer(root: Path, context: ToolContext) -> None:
    """A file, a missing and an empty directory are told apart."""
    (root / "f").touch()
    (root / "empty").mkdir()
    tool = ListDirectory()
    assert "Use read_file" in tool.run({"path": "f"}, context).text
    assert tool.run({"path": "nope"}, context).is_error
    assert tool.run({"path": "empty"}, context).text == "[empty is an empty directory]"

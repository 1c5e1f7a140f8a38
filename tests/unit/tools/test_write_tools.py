"""write_file and edit: whole or not at all, what is kept, and what a probe says after a crash."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.model.tool import Probe, ProbeVerdict
from neuraphage.ports import ToolContext
from neuraphage.tools import atomic_write
from neuraphage.tools.base import ParsedTool
from neuraphage.tools.write_tools import Edit, WriteFile

HavingRead = Callable[[Path], ToolContext]
WRITE = {"path": "a.txt", "content": "new\n"}
EDIT = {"path": "a.txt", "old_string": "old", "new_string": "fresh"}


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


def identity(path: Path) -> tuple[int, ...]:
    """What a write of any kind would change (a read changes the access time, which is left out)."""
    info = path.lstat()
    return info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns


def move_of(exists: bool) -> str:
    """The call that gives the new bytes their name."""
    return "replace" if exists else "link"


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_a_new_file_gets_its_parents(root: Path, context: ToolContext) -> None:
    """Missing directories are made, and nothing else is left beside the file."""
    result = WriteFile().run({"path": "x/y/z.txt", "content": "é\n"}, context)
    assert (result.is_error, result.text) == (False, "Wrote x/y/z.txt: 3 bytes.")
    assert (root / "x/y/z.txt").read_bytes() == "é\n".encode()
    assert names(root / "x/y") == ["z.txt"]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o711])
def test_the_mode_of_a_replaced_file_is_kept(root: Path, having_read: HavingRead, mode: int) -> None:
    """An executable stays one and a private file stays private, for both tools."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    WriteFile().run({"path": "a.txt", "content": "old again"}, having_read(path))
    assert path.stat().st_mode & 0o7777 == mode
    Edit().run(EDIT, having_read(path))
    assert path.stat().st_mode & 0o7777 == mode
    assert path.read_text(encoding="utf-8") == "fresh again"


def test_a_link_to_a_file_stays_a_link(root: Path, having_read: HavingRead) -> None:
    """The file behind it is replaced, not the link."""
    (root / "real.txt").write_text("old", encoding="utf-8")
    (root / "a.txt").symlink_to("real.txt")
    assert not WriteFile().run(WRITE, having_read(root / "a.txt")).is_error
    assert (root / "a.txt").is_symlink()
    assert (root / "real.txt").read_text(encoding="utf-8") == "new\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2\n3", b"1\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\ntwo\n", "one\n", "1\n", b"1\ntwo\n"),
        (b"one\r\ntwo\nthree\n", "two\nthree", "2\n3", b"one\r\n2\n3\n"),
        (b"one\r\ntwo\nthree\n", "one\ntwo", "1\n2", b"1\r\n2\nthree\n"),
        (b"\xef\xbb\xbfone\n", "one", "1", b"\xef\xbb\xbf1\n"),
        ("a\u00e9\U0001f600b".encode(), "\U0001f600", "x", "a\u00e9xb".encode()),
    ],
)
def test_edit_keeps_line_ends_and_byte_order_mark(
    root: Path, having_read: HavingRead, before: bytes, old: str, new: str, after: bytes
) -> None:
    """Only the replaced text changes; its line ends are spelt as the file's."""
    path = root / "a.txt"
    path.write_bytes(before)
    result = Edit().run({"path": "a.txt", "old_string": old, "new_string": new}, having_read(path))
    assert not result.is_error, result.text
    assert path.read_bytes() == after


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("before", "content", "after", "kept"),
    [
        (b"one\r\ntwo\r\n", "1\n2\n", b"1\r\n2\r\n", "CRLF line ends"),
        (MARK + b"one\n", "1\n", MARK + b"1\n", "byte order mark"),
        (MARK + b"one\r\n", "1\n", MARK + b"1\r\n", "byte order mark and CRLF line ends"),
        (MARK + b"one\n", "\ufeff1\n", MARK + b"1\n", ""),
        (b"one\n", "\ufeff1\n", MARK + b"1\n", ""),
        (b"one\r\n", "1\r\n2\n", b"1\r\n2\n", ""),
        (b"one\r\ntwo\n", "1\n2\n", b"1\n2\n", ""),
        (b"one\n", "1\r\n", b"1\r\n", ""),
        (b"one", "1\n", b"1\n", ""),
        (b"\r\n\0", "1\n", b"1\n", ""),
        (b"caf\xe9\r\n", "1\n", b"1\n", ""),
        (b"one\r\n", "", b"", ""),
    ],
)
def test_a_replaced_file_keeps_its_byte_order_mark_and_line_ends(
    root: Path, having_read: HavingRead, before: bytes, content: str, after: bytes, kept: str
) -> None:
    """What the content does not spell itself is taken from the file, and the answer says so; twice is once."""
    path = root / "a.txt"
    path.write_bytes(before)
    params, context = {"path": "a.txt", "content": content}, having_read(path)
    evidence = WriteFile().prepare(params, context)
    result = WriteFile().run(params, context)
    assert path.read_bytes() == after
    kept = f", with the {kept} of the file that was replaced" if kept else ""
    assert (result.is_error, result.text) == (False, f"Wrote a.txt: {len(after)} bytes{kept}.")
    for known in (evidence, {}):
        assert WriteFile().probe(params, known, context) == Probe(verdict=ProbeVerdict.HAPPENED, result=result)
    WriteFile().run(params, having_read(path))
    assert path.read_bytes() == after


def test_edit_demands_that_the_file_was_read(root: Path, context: ToolContext, having_read: HavingRead) -> None:
    """An unread file is left alone, and the answer says what to do."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    result = Edit().run(EDIT, context)
    assert result.is_error
    assert "read_file first" in result.text
    assert path.read_text(encoding="utf-8") == "old"
    assert not Edit().run(EDIT, having_read(path)).is_error


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"old_string": "absent"}, "was not found"),
        ({"old_string": "o"}, "occurs 2 times"),
        ({"new_string": "old"}, "are the same"),
        ({"old_string": ""}, "at least 1 characters"),
        ({"path": "nope"}, "does not exist"),
    ],
)
def test_edits_that_cannot_be_made(root: Path, having_read: HavingRead, change: dict[str, Any], words: str) -> None:
    """Not found, ambiguous, empty and pointless are told apart; the file stays as it is."""
    path = root / "a.txt"
    path.write_text("old one", encoding="utf-8")
    result = Edit().run({**EDIT, **change}, having_read(path))
    assert result.is_error
    assert words in result.text
    assert path.read_text(encoding="utf-8") == "old one"


def test_replace_all_changes_every_occurrence(root: Path, having_read: HavingRead) -> None:
    """What is ambiguous alone is fine when all are meant."""
    path = root / "a.txt"
    path.write_text("old old old", encoding="utf-8")
    Edit().run({**EDIT, "replace_all": True}, having_read(path))
    assert path.read_text(encoding="utf-8") == "fresh fresh fresh"


@pytest.mark.parametrize("kind", ["fifo", "directory", "huge", "binary", "latin-1"])
def test_what_cannot_be_edited_is_left_alone(root: Path, having_read: HavingRead, kind: str) -> None:
    """Special, large and foreign files end as an answer, and never block."""
    path = root / "a.txt"
    make: dict[str, Callable[[], Any]] = {
        "fifo": lambda: os.mkfifo(path),
        "directory": path.mkdir,
        "huge": lambda: (path.touch(), os.truncate(path, 11 * 1024 * 1024)),
        "binary": lambda: path.write_bytes(b"old\0"),
        "latin-1": lambda: path.write_bytes(b"old \xe9"),
    }
    make[kind]()
    before = identity(path)
    assert Edit().run(EDIT, having_read(path)).is_error
    if kind in {"fifo", "directory", "huge"}:
        assert WriteFile().run(WRITE, having_read(path)).is_error
    assert identity(path) == before


@pytest.mark.parametrize(
    ("call", "number", "words"),
    [
        ("move", errno.EACCES, "permission denied"),
        ("move", errno.EROFS, "read-only"),
        ("open", errno.EACCES, "permission denied"),
        ("write", errno.ENOSPC, "disk is full"),
        ("fsync", errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_write_that_the_system_refuses_changes_nothing(
    root: Path,
    having_read: HavingRead,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    number: int,
    words: str,
    exists: bool,
) -> None:
    """The answer names the cause, the file is untouched and no temporary file is left."""
    path = root / "a.txt"
    if exists:
        path.write_text("before", encoding="utf-8")
    context = having_read(path)
    call = move_of(exists) if call == "move" else call
    real = getattr(os, call)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if call == "open" and not args[1] & os.O_CREAT:
            return real(*args, **kwargs)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refuse)
    result = WriteFile().run(WRITE, context)
    monkeypatch.undo()
    assert result.is_error
    assert words in result.text
    assert ("not changed" if exists else "Nothing was written") in result.text
    assert names(root) == (["a.txt"] if exists else [])
    assert not exists or path.read_text(encoding="utf-8") == "before"


def test_a_disk_that_fills_up_in_the_middle(
    root: Path, having_read: HavingRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short write followed by ENOSPC leaves the old file whole."""
    (root / "a.txt").write_text("before", encoding="utf-8")
    context = having_read(root / "a.txt")
    real = os.write
    left = [2]

    def short(fd: int, data: Any) -> int:
        if not left:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, bytes(data)[: left.pop()])

    monkeypatch.setattr(os, "write", short)
    assert "disk is full" in WriteFile().run(WRITE, context).text
    assert {entry.name: entry.read_text(encoding="utf-8") for entry in root.iterdir()} == {"a.txt": "before"}


def test_write_protection_of_the_file_itself_counts(
    root: Path, having_read: HavingRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename could get past it, so it is asked first."""
    (root / "a.txt").write_text("before", encoding="utf-8")
    context = having_read(root / "a.txt")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert "permission denied" in WriteFile().run(WRITE, context).text
    assert (root / "a.txt").read_text(encoding="utf-8") == "before"


def test_a_directory_that_cannot_be_flushed_is_told(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are there, so the answer must not claim otherwise."""

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(atomic_write, "flush_directory", fail)
    result = WriteFile().run(WRITE, context)
    assert result.is_error
    assert "was written, but" in result.text
    assert (root / "a.txt").read_text(encoding="utf-8") == "new\n"


@pytest.mark.parametrize("exists", [True, False])
def test_bytes_are_flushed_before_the_rename_and_the_name_after(
    root: Path, having_read: HavingRead, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """The order that a power cut needs."""
    if exists:
        (root / "a.txt").write_text("before", encoding="utf-8")
    context = having_read(root / "a.txt")
    order: list[str] = []
    real_fsync, real_move = os.fsync, getattr(os, move_of(exists))

    def fsync(fd: int) -> None:
        order.append("directory" if Path(f"/proc/self/fd/{fd}").is_dir() else "file")
        real_fsync(fd)

    def move(*args: Any, **kwargs: Any) -> None:
        order.append("rename")
        real_move(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, move_of(exists), move)
    WriteFile().run(WRITE, context)
    assert order == ["file", "rename", "directory"]


def test_a_frozen_writer_does_not_move_its_successors_file(
    root: Path, having_read: HavingRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When another process has taken the temporary name, the first one gives up instead of renaming it."""
    (root / "a.txt").write_text("before", encoding="utf-8")
    context = having_read(root / "a.txt")
    temp = root / atomic_write.temp_name(context.effect_id)
    real = os.fsync

    def overtaken(fd: int) -> None:
        real(fd)
        temp.unlink()
        temp.write_text("half of the succ", encoding="utf-8")

    monkeypatch.setattr(os, "fsync", overtaken)
    assert WriteFile().run(WRITE, context).is_error
    assert (root / "a.txt").read_text(encoding="utf-8") == "before"


# --- evidence and probe ------------------------------------------------------------------------------


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


CASES: list[tuple[ParsedTool[Any], dict[str, Any], bytes | None, bytes]] = [
    (WriteFile(), WRITE, None, b"new\n"),
    (WriteFile(), WRITE, b"old\n", b"new\n"),
    (WriteFile(), WRITE, b"\xef\xbb\xbfold\r\n", b"\xef\xbb\xbfnew\r\n"),
    (Edit(), EDIT, b"an old\r\nfile\r\n", b"an fresh\r\nfile\r\n"),
]


@pytest.mark.parametrize(("tool", "params", "before", "after"), CASES)
def test_evidence_is_read_without_a_change(
    root: Path,
    having_read: HavingRead,
    tool: ParsedTool[Any],
    params: dict[str, Any],
    before: bytes | None,
    after: bytes,
) -> None:
    """prepare gives the hashes of what is there and of what will be."""
    path = root / "a.txt"
    if before is not None:
        path.write_bytes(before)
    evidence = tool.prepare(params, having_read(path))
    assert evidence == {
        "path": str(path),
        "before_sha256": None if before is None else sha256(before),
        "after_sha256": sha256(after),
    }
    assert path.exists() == (before is not None)
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("at", ["open", "write", "fsync", "move", "after_move"])
@pytest.mark.parametrize(("tool", "params", "before", "after"), CASES)
def test_a_kill_at_any_step_ends_in_one_clean_change(
    root: Path,
    having_read: HavingRead,
    monkeypatch: pytest.MonkeyPatch,
    tool: ParsedTool[Any],
    params: dict[str, Any],
    before: bytes | None,
    after: bytes,
    at: str,
) -> None:
    """The probe tells exactly whether it happened; the result is the same either way and nothing is left over."""
    path = root / "a.txt"
    if before is not None:
        path.write_bytes(before)
    context = having_read(path)
    evidence = tool.prepare(params, context)
    call = move_of(before is not None) if at.endswith("move") else at
    real = getattr(os, call)

    def kill(*args: Any, **kwargs: Any) -> Any:
        if call == "open" and not args[1] & os.O_CREAT:
            return real(*args, **kwargs)
        if at == "after_move":
            real(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, call, kill)
        with pytest.raises(Killed):
            tool.run(params, context)
    assert len([name for name in names(root) if name != "a.txt"]) <= 1
    probe = tool.probe(params, evidence, context)
    assert probe.verdict is (ProbeVerdict.HAPPENED if at == "after_move" else ProbeVerdict.NOT_HAPPENED)
    assert [name for name in names(root) if name != "a.txt"] == []
    result = probe.result if probe.verdict is ProbeVerdict.HAPPENED else tool.run(params, context)
    assert path.read_bytes() == after
    assert names(root) == ["a.txt"]
    (root / "a.txt").unlink()
    if before is not None:
        path.write_bytes(before)
    assert result == tool.run(params, context)


@pytest.mark.parametrize(("tool", "params", "before", "after"), CASES)
def test_a_file_that_someone_else_changed_is_unknown(
    root: Path,
    having_read: HavingRead,
    tool: ParsedTool[Any],
    params: dict[str, Any],
    before: bytes | None,
    after: bytes,
) -> None:
    """Neither before nor after: the probe does not guess, and gives no result."""
    path = root / "a.txt"
    if before is not None:
        path.write_bytes(before)
    evidence = tool.prepare(params, having_read(path))
    path.write_bytes(b"old, by someone else")
    assert tool.probe(params, evidence, having_read(path)) == Probe(verdict=ProbeVerdict.UNKNOWN)


def test_a_link_turned_to_another_file_is_unknown(root: Path, having_read: HavingRead) -> None:
    """The evidence is about one file; another with the right bytes proves nothing."""
    (root / "one").write_text("old", encoding="utf-8")
    (root / "two").write_text("new\n", encoding="utf-8")
    (root / "a.txt").symlink_to("one")
    context = having_read(root / "one")
    evidence = WriteFile().prepare(WRITE, context)
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to("two")
    assert WriteFile().probe(WRITE, evidence, context).verdict is ProbeVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("text", "old", "new", "verdict"),
    [
        ("an old file", "old", "fresh", ProbeVerdict.NOT_HAPPENED),
        ("a fresh file", "old", "fresh", ProbeVerdict.HAPPENED),
        ("something else", "old", "fresh", ProbeVerdict.UNKNOWN),
        ("an older file", "old", "older", ProbeVerdict.UNKNOWN),
        ("an old file", "old", "older", ProbeVerdict.NOT_HAPPENED),
        ("a file", "old", "", ProbeVerdict.UNKNOWN),
        ("a\r\nfresh\r\nfile", "old\n", "fresh\n", ProbeVerdict.HAPPENED),
    ],
)
def test_an_edit_without_evidence_looks_for_its_strings(
    root: Path, context: ToolContext, text: str, old: str, new: str, verdict: ProbeVerdict
) -> None:
    """Old there: not yet; only new there: done; a new that holds the old proves nothing."""
    (root / "a.txt").write_bytes(text.encode())
    params = {"path": "a.txt", "old_string": old, "new_string": new}
    assert Edit().probe(params, {}, context).verdict is verdict


def test_a_write_without_evidence_compares_the_content(root: Path, context: ToolContext) -> None:
    """The same bytes count as written; anything else is unknown."""
    assert WriteFile().probe(WRITE, {}, context).verdict is ProbeVerdict.UNKNOWN
    (root / "a.txt").write_text("new\n", encoding="utf-8")
    assert WriteFile().probe(WRITE, {}, context).verdict is ProbeVerdict.HAPPENED


def test_the_temporary_name_is_hidden_and_derived() -> None:
    """It holds the effect id; an id that no file name can hold is hashed."""
    assert atomic_write.temp_name("abc123") == ".np-abc123.tmp"
    odd = atomic_write.temp_name("../../etc")
    assert "/" not in odd
    assert odd == atomic_write.temp_name("../../etc") != atomic_write.temp_name("../../usr")

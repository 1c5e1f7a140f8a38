"""Files and requests that do what nobody expects of them."""

from __future__ import annotations

import os
import re
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools_fakes import place_of

from neuraphage.ports import ToolContext
from neuraphage.tools import search_child, search_patterns, search_tools
from neuraphage.tools.files import MAX_FILE_BYTES
from neuraphage.tools.search_tools import Glob, Grep
from neuraphage.tools.write_tools import Edit, WriteFile

HavingRead = Callable[[Path], ToolContext]


@pytest.mark.parametrize(("text", "old"), [("aaa", "aa"), ("}\n}\n}\n", "}\n}\n"), ("x\r\n\r\n\r\ny", "\n\n")])
def test_matches_that_overlap_are_two(root: Path, having_read: HavingRead, text: str, old: str) -> None:
    """Which of them is meant nobody knows, so nothing is changed."""
    path = root / "a.txt"
    path.write_bytes(text.encode())
    result = Edit().run({"path": "a.txt", "old_string": old, "new_string": "-"}, having_read(path))
    assert result.is_error
    assert "occurs 2 times" in result.text
    assert path.read_bytes() == text.encode()


def test_an_edit_that_would_grow_without_bounds(root: Path, having_read: HavingRead) -> None:
    """The size is worked out before the text is made: it would not fit into any memory."""
    path = root / "a.txt"
    path.write_bytes(b"a" * MAX_FILE_BYTES)
    params = {"path": "a.txt", "old_string": "a", "new_string": "b" * 1_000_000, "replace_all": True}
    result = Edit().run(params, having_read(path))
    assert result.is_error
    assert "over the limit of 10 MB" in result.text


def acl(group: int) -> bytes:
    """An access list as the kernel keeps it: one more user may write, the file's own group only as told."""
    everyone = 0xFFFFFFFF
    rows = [(1, 6, everyone), (2, 6, 12345), (4, group, everyone), (16, 6, everyone), (32, 0, everyone)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs Linux")
def test_access_list_and_attributes_of_a_replaced_file_are_kept(root: Path, having_read: HavingRead) -> None:
    """Without its list the mode of a file says something else: its group would get rights it never had."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    try:
        os.setxattr(path, "system.posix_acl_access", acl(group=4))
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("this filesystem keeps none")
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    WriteFile().run({"path": "a.txt", "content": "old again"}, having_read(path))
    Edit().run({"path": "a.txt", "old_string": "old", "new_string": "fresh"}, having_read(path))
    assert path.read_text(encoding="utf-8") == "fresh again"
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs Linux")
def test_a_replaced_file_does_not_take_the_list_of_its_directory(root: Path, having_read: HavingRead) -> None:
    """What the directory gives to new files is not for one that was there without it."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    try:
        os.setxattr(root, "system.posix_acl_default", acl(group=4))
    except OSError:
        pytest.skip("this filesystem keeps none")
    WriteFile().run({"path": "a.txt", "content": "new"}, having_read(path))
    assert os.listxattr(path) == []
    WriteFile().run({"path": "b.txt", "content": "new"}, having_read(path))
    assert os.listxattr(root / "b.txt") == ["system.posix_acl_access"]


@pytest.mark.parametrize("was_there", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_what_another_process_writes_meanwhile_is_kept(
    root: Path, having_read: HavingRead, monkeypatch: pytest.MonkeyPatch, was_there: bool, in_place: bool
) -> None:
    """A formatter or an editor at work on the same file loses nothing; the call says what to do."""
    path = root / "a.txt"
    if was_there:
        path.write_text("old", encoding="utf-8")
    real = os.fsync

    def someone_writes(fd: int) -> None:
        if not (root / "done").exists():
            (root / "done").touch()
            target = path if in_place else root / "theirs"
            target.write_text("theirs", encoding="utf-8")
            target.replace(path)
        real(fd)

    monkeypatch.setattr(os, "fsync", someone_writes)
    result = WriteFile().run({"path": "a.txt", "content": "ours"}, having_read(path))
    assert result.is_error
    assert "changed by another process" in result.text
    assert path.read_text(encoding="utf-8") == "theirs"
    assert sorted(entry.name for entry in root.iterdir()) == ["a.txt", "done"]


def test_a_class_of_other_letters_stays_in_one_name(root: Path, context: ToolContext) -> None:
    """`[!x]` is one letter of a name, as `?` is, and no slash."""
    (root / "s").mkdir()
    (root / "s" / "x.py").touch()
    assert Glob().run({"pattern": "s[!q]x.py"}, context).text == "No file matches."
    assert re.fullmatch(search_patterns.glob_regex("s[!q]x"), "s/x") is None
    assert re.fullmatch(search_patterns.glob_regex("s[^]q]x"), "s-x")
    assert re.fullmatch(search_patterns.glob_regex("s[^]q]x"), "s]x") is None


def test_a_class_of_another_dialect_is_refused(root: Path, context: ToolContext) -> None:
    """Python reads `[[:alpha:]]` as some letters and a bracket: nothing would be found, and nobody would know why."""
    (root / "a.txt").write_text("x9\n:]\n", encoding="utf-8")
    result = Grep().run({"pattern": "[[:digit:]]"}, context)
    assert result.is_error
    assert "[:digit:]" in result.text
    assert Grep().run({"pattern": "[:]]"}, context).text == "a.txt:2::]"


@pytest.mark.parametrize("path", ["new/", "a.txt/"])
def test_a_file_whose_path_is_that_of_a_directory(root: Path, context: ToolContext, path: str) -> None:
    """Nothing is written under another name than the one that was meant."""
    (root / "a.txt").write_text("old", encoding="utf-8")
    result = WriteFile().run({"path": path, "content": "x"}, context)
    assert result.is_error
    assert "name a file" in result.text
    assert [entry.name for entry in root.iterdir()] == ["a.txt"]
    assert (root / "a.txt").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("rule", ["*a" * 12 + "b", "**/" * 12 + "b", "*?a" * 12 + "*b"])
def test_a_slow_gitignore_does_not_stop_searches(root: Path, context: ToolContext, rule: str) -> None:
    """A line of a stranger's repository with many stars would take longer than the time of a search, for every name."""
    folder = root.joinpath(*["d"] * 20)
    folder.mkdir(parents=True)
    (folder / ("a" * 200)).write_text("needle", encoding="utf-8")
    (root / ".gitignore").write_text(f"{rule}\n", encoding="utf-8")
    result = Grep(timeout_s=10).run({"pattern": "needle"}, context)
    assert not result.is_error
    assert result.text.endswith(f"{'a' * 200}:1:needle")


@given(st.text("ab*?", max_size=9).filter(lambda text: "**" not in text), st.text("ab/", max_size=9))
def test_stars_fit_what_they_always_fitted(pattern: str, name: str) -> None:
    """However a pattern is spelt for speed, it says the same."""
    plain = "".join({"*": "[^/]*", "?": "[^/]"}.get(char, char) for char in pattern)
    fits = re.fullmatch(search_patterns.glob_regex(pattern), name) is not None
    assert fits == (re.fullmatch(plain, name) is not None)


def test_a_newline_in_a_name_makes_no_second_match(root: Path, context: ToolContext) -> None:
    """A file name cannot pass for a line of another file."""
    (root / "a\nb.py:1:fake").write_text("needle", encoding="utf-8")
    assert Grep().run({"pattern": "needle"}, context).text == "a\\nb.py:1:fake:1:needle"


def test_a_file_that_has_nothing_yet(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some files of the kernel are regular and answer `not now`, as /proc/kmsg does: they are skipped."""

    class NotNow:
        """A file that answers so."""

        def __init__(self, fd: int, _mode: str) -> None:
            self.fd = fd

        def __enter__(self) -> NotNow:
            return self

        def __exit__(self, *_: object) -> None:
            os.close(self.fd)

        def fileno(self) -> int:
            return self.fd

        def read(self, _limit: int) -> None:
            """Nothing yet."""

    path = root / "a.txt"
    path.touch()
    monkeypatch.setattr(search_child.os, "fdopen", NotNow)
    assert search_child.read_regular(str(path), 10) == "unreadable"


def test_directories_that_cannot_be_read_are_counted(root: Path) -> None:
    """Nobody takes `nothing found` for `nothing there`."""
    for name in ("open", "shut", "shut too"):
        (root / name).mkdir()
    real = os.scandir
    request = {
        **place_of(root), "pattern": ".*", "glob": None, "case_insensitive": False,
        "before_lines": 0, "after_lines": 0, "max_results": 9,
    }  # fmt: skip
    refused = {(root / name).stat().st_ino for name in ("shut", "shut too")}

    def scan(fd: int) -> object:
        if os.fstat(fd).st_ino in refused:
            raise PermissionError(13, "Permission denied")
        return real(fd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", scan)
        names = search_child.find_names({**request, "pattern": "**"})
        lines = search_child.Grep(request).answer()
    for answer in (names, lines):
        assert answer["lines"] == []
        assert search_tools._limits(answer) == ["[directories that could not be read: 2]"]


def test_a_search_opens_no_device(root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening alone can do something: a watchdog restarts the machine, a tape is wound back."""
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("a.txt")
    monkeypatch.setattr(search_child.os, "open", lambda path, _flags, dir_fd: pytest.fail(f"opened {path}"))
    assert search_child.read_regular(str(root / "pipe"), 10) == "special"
    assert search_child.read_regular(str(root / "link"), 10) == "link"


@pytest.mark.parametrize(
    ("allowed", "asked"),
    [
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 2 * 1024**3),
        ((resource.RLIM_INFINITY, 1024**3), 1024**3),
        ((1024**3, resource.RLIM_INFINITY), 1024**3),
    ],
)
def test_the_limit_of_memory_is_never_raised(
    monkeypatch: pytest.MonkeyPatch, allowed: tuple[int, int], asked: int
) -> None:
    """Where less is allowed already (ulimit -v), asking for more is refused, and would end each search."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: allowed)
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: calls.append(limits))
    search_child.limit_memory()
    assert calls == [(asked, asked)]


def test_a_system_that_cannot_limit_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS refuses: then the search goes on without."""

    def refuse(_which: int, _limits: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    search_child.limit_memory()

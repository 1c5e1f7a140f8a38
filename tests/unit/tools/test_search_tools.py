"""glob and grep: what they find and leave out, and that the child never outlives the call or its worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from tools_fakes import FakeInterrupt, place_of, until

from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.ports import ToolContext
from neuraphage.tools import search_child, search_patterns
from neuraphage.tools.search_tools import Glob, Grep
from patience import PATIENCE_S

CATASTROPHIC = {"pattern": "(a+)+$"}


def make(root: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def glob(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    result = Glob().run({"pattern": pattern, **more}, context)
    assert not result.is_error, result.text
    return result.text.split("\n")


def grep(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    result = Grep().run({"pattern": pattern, **more}, context)
    assert not result.is_error, result.text
    return result.text.split("\n")


def search_children() -> list[psutil.Process]:
    """Search processes below this one that are still alive."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE and "search_child" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "d/a.py"]),
        ("**/*.py", ["a.py", "d/a.py", "d/e/a.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/b/c"], ["srcs/a", "src"]),
        ("src/**/t?.{ts,tsx}", ["src/t1.ts", "src/a/b/t2.tsx"], ["src/t12.ts", "src/t1.tsxx"]),
        ("[a-c][!0-9].md", ["ax.md", "c-.md"], ["dx.md", "a1.md"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("x{y", ["x{y"], ["xy"]),
        ("a+(b).c", ["a+(b).c"], ["aab.c"]),
    ],
)
def test_the_glob_language(pattern: str, matching: list[str], other: list[str]) -> None:
    """Each part of a pattern means what the shells and git mean by it."""
    regex = search_child.re.compile(search_patterns.glob_regex(pattern), search_child.re.DOTALL)
    assert [path for path in matching + other if regex.fullmatch(path)] == matching


def test_glob_shows_the_newest_first_and_ties_by_name(root: Path, context: ToolContext) -> None:
    """Order is by time of change, then by name, so it is the same at each call."""
    make(root, "b.py", "a.py", "old.py", "sub/new.py")
    for name, time_s in [("a.py", 20), ("b.py", 20), ("old.py", 10), ("sub/new.py", 30)]:
        os.utime(root / name, (time_s, time_s))
    assert glob(context, "**/*.py") == ["sub/new.py", "a.py", "b.py", "old.py"]


def test_paths_are_relative_to_the_working_directory(root: Path, context: ToolContext) -> None:
    """The pattern is below `path`, the answer can be given to read_file as it is."""
    make(root, "src/deep/a.py", "other/a.py", text="needle")
    assert glob(context, "**/*.py", path="src") == ["src/deep/a.py"]
    assert grep(context, "needle", path="src") == ["src/deep/a.py:1:needle"]
    assert grep(context, "needle", path="other/a.py") == ["other/a.py:1:needle"]


def test_git_and_what_gitignore_names_is_left_out(root: Path, context: ToolContext) -> None:
    """Directory rules, anchors, negation and nested files hold; a directory named by `path` is searched anyway."""
    make(root, ".git/config", "keep.py", "a.log", "sub/b.log", "sub/important.log", "build/x.py", "sub/build", "top/z")
    make(root, "sub/top/z", "sub/local.tmp", "local.tmp")
    (root / ".gitignore").write_text("# comment\n*.log\n!important.log\nbuild/\n/top\n\n[z-a\n", encoding="utf-8")
    (root / "sub/.gitignore").write_text("*.tmp\n", encoding="utf-8")
    found = {"keep.py", "sub/important.log", "sub/build", "sub/top/z", "local.tmp", ".gitignore", "sub/.gitignore"}
    assert set(glob(context, "**/*")) == found
    assert set(grep(context, "x", path=".")) == {f"{name}:1:x" for name in found if "gitignore" not in name}
    assert glob(context, "*.py", path="build") == ["build/x.py"]


def test_links_are_not_followed(root: Path, context: ToolContext) -> None:
    """A link out of the tree shows as a name in glob, and its content is not searched."""
    outside = root.parent / "outside"
    make(outside, "secret.txt", text="needle")
    (root / "dir").symlink_to(outside)
    (root / "file.txt").symlink_to(outside / "secret.txt")
    assert set(glob(context, "**/*")) == {"dir", "file.txt"}
    assert grep(context, "needle") == ["No line matches.", "[files skipped: 2 links]"]


def test_depth_and_result_caps_are_said(root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out because of a limit is told, with the number where it is known."""
    make(root, "/".join(["d"] * 24) + "/seen", "/".join(["d"] * 26) + "/too-deep")
    text = glob(context, "**/*")
    assert [line.rsplit("/", 1)[-1] for line in text[:1]] == ["seen"]
    assert "deeper than 25" in text[1]
    make(root, "f1", "f2", "f3", "d/f4")
    monkeypatch.setattr("neuraphage.tools.search_tools.MAX_NAMES", 2)
    assert glob(context, "f*")[2] == "[1 more files left out; use a narrower pattern]"


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*"])
def test_a_glob_cannot_leave_its_directory(context: ToolContext, pattern: str) -> None:
    """Absolute patterns and dots are refused."""
    assert "must be relative" in Glob().run({"pattern": pattern}, context).text


def test_grep_shows_context_and_separates_groups(root: Path, context: ToolContext) -> None:
    """Overlapping context is shown once; groups that do not touch are parted."""
    make(root, "a.txt", text="\n".join(["0", "hit 1", "2", "hit 3", "4", "5", "6", "7", "hit 8"]))
    assert grep(context, "hit", context_lines=1) == [
        "a.txt-1-0", "a.txt:2:hit 1", "a.txt-3-2", "a.txt:4:hit 3", "a.txt-5-4", "--", "a.txt-8-7", "a.txt:9:hit 8",
    ]  # fmt: skip


def test_grep_takes_lines_before_and_after_apart(root: Path, context: ToolContext) -> None:
    """Each goes before context_lines; zero is a number like any other."""
    make(root, "a.txt", text="0\n1\nhit 2\n3\n4\nhit 5\n6\n")
    assert grep(context, "hit 2", before_lines=2) == ["a.txt-1-0", "a.txt-2-1", "a.txt:3:hit 2"]
    assert grep(context, "hit", after_lines=1) == ["a.txt:3:hit 2", "a.txt-4-3", "--", "a.txt:6:hit 5", "a.txt-7-6"]
    assert grep(context, "hit 5", context_lines=2, after_lines=0) == ["a.txt-4-3", "a.txt-5-4", "a.txt:6:hit 5"]
    assert grep(context, "hit 5", context_lines=1, before_lines=2) == [
        "a.txt-4-3", "a.txt-5-4", "a.txt:6:hit 5", "a.txt-7-6",
    ]  # fmt: skip


def test_adjacent_matches_stay_in_order(root: Path, context: ToolContext) -> None:
    """Matches on neighbouring lines each show once, as matches."""
    make(root, "a.txt", text="hit\nhit\nhit\n")
    assert grep(context, "hit", context_lines=2) == ["a.txt:1:hit", "a.txt:2:hit", "a.txt:3:hit"]


def test_grep_options(root: Path, context: ToolContext) -> None:
    """Case and file filter: without a slash the filter is about the name, with one about the path."""
    make(root, "a.py", "sub/b.py", "sub/c.txt", text="Needle\n")
    assert grep(context, "needle")[0] == "No line matches."
    assert len(grep(context, "needle", case_insensitive=True)) == 3
    assert grep(context, "Needle", glob="*.py") == ["a.py:1:Needle", "sub/b.py:1:Needle"]
    assert grep(context, "Needle", glob="sub/*") == ["sub/b.py:1:Needle", "sub/c.txt:1:Needle"]


def test_max_results_counts_matches_over_all_files(root: Path, context: ToolContext) -> None:
    """Exactly that many are shown, and the stop is said only when there was more."""
    make(root, "a.txt", "b.txt", text="hit\nhit\n")
    assert grep(context, "hit", max_results=3)[:3] == ["a.txt:1:hit", "a.txt:2:hit", "b.txt:1:hit"]
    assert "stopped early: max_results (3)" in grep(context, "hit", max_results=3)[3]
    assert len(grep(context, "hit", max_results=4)) == 4


def test_what_grep_cannot_search_is_counted(root: Path, context: ToolContext) -> None:
    """Binary, over-size and special files are skipped without blocking, and the answer says so."""
    (root / "bin").write_bytes(b"needle\0")
    (root / "big").touch()
    os.truncate(root / "big", search_child.MAX_FILE_BYTES + 1)
    os.mkfifo(root / "pipe")
    assert grep(context, "needle") == [
        "No line matches.",
        "[files skipped: 1 binary, 1 over 10 MB, 1 special files]",
    ]


def test_a_long_line_is_cut_around_its_match(root: Path, context: ToolContext) -> None:
    """The match shows wherever it is in the line; no character is split."""
    make(root, "a.txt", text="é" * 5_000 + "needle" + "é" * 5_000)
    (line,) = grep(context, "needle")
    assert "needle" in line
    assert line.endswith(" [9506 characters left out]")


def test_odd_text_is_searched_as_far_as_it_goes(root: Path, context: ToolContext) -> None:
    """CRLF, a byte order mark and a foreign byte do not hide a match; the answer is plain UTF-8."""
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfneedle\r\ncaf\xe9 needle\r\n")
    assert grep(context, "^needle$|\ufffd needle$") == ["a.txt:1:needle", "a.txt:2:caf\ufffd needle"]


@pytest.mark.parametrize("tool", [Grep(), Glob()])
def test_a_wrong_pattern_is_an_answer(context: ToolContext, tool: Grep | Glob) -> None:
    """The reason is in the text."""
    result = tool.run({"pattern": "[z-a]"}, context)
    assert result.is_error
    assert "not valid" in result.text


def test_a_slow_pattern_is_stopped_and_named(root: Path, context: ToolContext) -> None:
    """A catastrophic pattern ends at the time limit, and its process with it."""
    make(root, "a.txt", text="a" * 60 + "b")
    result = Grep(timeout_s=0.3).run(CATASTROPHIC, context)
    assert result.is_error
    assert "pattern may be too slow" in result.text
    assert search_children() == []


@pytest.mark.parametrize("error", [CancelRequested, LeaseLost])
def test_an_interrupt_stops_the_search(
    root: Path, context: ToolContext, interrupt: FakeInterrupt, error: type[BaseException]
) -> None:
    """A cancel during a search that would run for ever ends it and its process."""
    make(root, "a.txt", text="a" * 60 + "b")
    raised: list[BaseException] = []

    def search() -> None:
        try:
            Grep(timeout_s=100).run(CATASTROPHIC, context)
        except BaseException as caught:
            raised.append(caught)

    thread = threading.Thread(target=search)
    thread.start()
    until(search_children)
    assert interrupt.subscribed.wait(PATIENCE_S)
    interrupt.fire(error())
    thread.join(PATIENCE_S)
    assert [type(one) for one in raised] == [error]
    assert search_children() == []


def test_a_search_that_dies_is_an_answer(root: Path, context: ToolContext) -> None:
    """An end from outside (out of memory, say) is told as such."""
    make(root, "a.txt", text="a" * 60 + "b")
    results = []
    thread = threading.Thread(target=lambda: results.append(Grep(timeout_s=100).run(CATASTROPHIC, context)))
    thread.start()
    until(search_children)[0].kill()
    thread.join(PATIENCE_S)
    assert "without an answer (status -9)" in results[0].text


def test_the_child_dies_with_a_killed_worker(root: Path) -> None:
    """kill -9 of the worker during a slow search leaves no process, though the pattern holds the interpreter."""
    make(root, "a.txt", text="a" * 60 + "b")
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from tools_fakes import FakeInterrupt
        from neuraphage.tools.search_process import run_search
        request = {{"kind": "grep", **{place_of(root)!r}, "pattern": "(a+)+$", "glob": None,
                    "case_insensitive": False, "before_lines": 0, "after_lines": 0, "max_results": 9}}
        run_search(request, 100, FakeInterrupt())
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) as worker:
        child = until(search_children)[0]
        # Its answer to the request is under way once it has used some processor time of its own.
        until(lambda: child.cpu_times().user > 0.2)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_the_child_ends_by_itself_long_after_its_time(root: Path) -> None:
    """Even without a parent that watches, the kernel ends it (the alarm needs no interpreter)."""
    make(root, "a.txt", text="a" * 60 + "b")
    request = {
        "kind": "grep", **place_of(root), "pattern": "(a+)+$", "glob": None,
        "parent_pid": os.getpid(),
        "case_insensitive": False, "before_lines": 0, "after_lines": 0, "max_results": 9, "timeout_s": -1.5,
    }  # fmt: skip
    argv = [sys.executable, "-I", "-S", search_child.__file__]
    done = subprocess.run(
        argv, input=json.dumps(request).encode(), capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == -signal.SIGALRM

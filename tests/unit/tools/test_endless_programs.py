"""A command that was ended by its time limit is told what likely kept it from ending."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.command_tool import RunCommand
from neuraphage.tools.endless_programs import why_endless


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("vi a.txt", "vi needs a terminal"),
        ("cd src && EDITOR=x /usr/bin/vim -u NONE a.txt", "vim needs a terminal"),
        ("sudo nano /etc/hosts", "edit or write_file"),
        ("timeout 30 less a.txt", "read_file or cat"),
        ("script -qc 'vi a.txt' /dev/null; true", "vi needs a terminal"),
        ("make && top", "top -b -n 1"),
        ("watch -n 1 date", "in place of watch"),
        ("tail -f log.txt", "tail was told to follow"),
        ("docker compose logs -f web", "never ends by itself"),
        ("kubectl logs --follow pod", "never ends by itself"),
        ("journalctl -u x -fn5", "never ends by itself"),
        ("(ssh host)", "BatchMode=yes"),
    ],
)
def test_the_program_is_named_with_what_to_do_instead(command: str, words: str) -> None:
    """By the names of those that are common."""
    assert words in (why_endless(command, "") or "")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Vim: Warning: Output is not to a terminal\nhello", "drew a screen"),
        ("\\x1b[?1049h\\x1b[?25lmenu", "drew a screen"),
        ("Overwrite a.txt? [y/N]", "asks a question".replace("asks", "ask")),
        ("Password for x:", "ask a question"),
        ("Do you want to continue?", "ask a question"),
    ],
)
def test_what_it_wrote_tells(output: str, words: str) -> None:
    """Of programs whose names tell nothing."""
    assert words in (why_endless("./configure.sh", output) or "")


@pytest.mark.parametrize(
    "command",
    ["sleep 300", "pytest -q", "cat vi", "echo top", "grep -f words less.txt", "make watch", "tail -n 5 a", "./vi.sh",
     "git log", "docker build -f Dockerfile .", "kubectl apply -f x.yml"],
)  # fmt: skip
def test_of_others_nothing_is_said(command: str) -> None:
    """A slow test run is no program that waits."""
    assert why_endless(command, "line\n1 of 2 done\n") is None


@pytest.mark.parametrize("piece", ["\n", " ", ";", "a/", "-a ", "1 ", "a=b ", "docker logs ", "sudo ", "(", "tail -"])
def test_no_command_makes_it_slow(piece: str) -> None:
    """It runs in the worker itself (the time limit of the test tells)."""
    for _ in range(20):
        why_endless(piece * (100_000 // len(piece)) + "!", piece * 100_000)


def timed_out(context: ToolContext, command: str, timeout_ms: int) -> str:
    text = RunCommand(environ=dict(os.environ)).run({"command": command, "timeout_ms": timeout_ms}, context).text
    assert "timed out" in text
    return text


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
def test_an_editor_leaves_its_picture_and_no_codes_of_it(root: Path, context: ToolContext) -> None:
    """What it drew is folded as a terminal would; the advice and the ending stand below it."""
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    text = timed_out(context, "vi -u NONE a.txt", 3_000)
    assert "vi needs a terminal" in text
    assert text.endswith("[timed out after 3 s; the command was ended]")
    if "hello" in text:  # a slow machine may end it before it has drawn
        assert "\nhello\n~\n~\n" in text
    assert not re.search(r"\\x1b\[[\d;]*[HdAJK]", text)


def test_a_screen_of_a_shell_is_folded(context: ToolContext) -> None:
    """The same without an editor: the last picture, below what came before."""
    draw = (
        r"echo before; for i in 1 2 3; do printf '\033[2J\033[1;1Hframe %s\033[3;5Hmenu\033[24;1H:' $i; done; sleep 300"
    )
    text = timed_out(context, draw, 3_000)
    assert text.startswith("before\nframe 3\n\n    menu\n")
    assert "frame 2" not in text
    assert "\\x1b" not in text


def test_a_command_has_no_terminal_and_nothing_to_read(context: ToolContext) -> None:
    """Its input is empty, TERM says that no code is understood, and no terminal can be opened."""
    command = "readlink /proc/self/fd/0; tty; echo $TERM; (: < /dev/tty) 2>/dev/null || echo none"
    result = RunCommand(environ={**os.environ, "TERM": "xterm"}, extra_names=["TERM"]).run(
        {"command": command}, context
    )
    assert result.text == "/dev/null\nnot a tty\ndumb\nnone\n[exit code 0]"

"""Answers that are typed and pasted on a real terminal, below a real shell, against a stack with a scripted model."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import DevStack, wait_for
from neuraphage.cli.line_reader import PASTE_PAUSE_S
from neuraphage.model.task import Status, TaskRecord
from patience import PATIENCE_S
from shellkit import Shell

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "askscript:play")
BEGIN, END = "\x1b[200~", "\x1b[201~"
QUESTION_END = "answer:"
PERMISSION_END = r"answer \[no\]:"


@pytest.fixture(scope="module")
def stack() -> Iterator[DevStack]:
    """One stack for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        stack = DevStack(Path(folder), PLAY)
        try:
            stack.start()
            yield stack
        finally:
            stack.kill()


@pytest.fixture
def shell(stack: DevStack, tmp_path: Path) -> Iterator[Shell]:
    """A person's shell, in a folder of its own."""
    shell = Shell(tmp_path, stack.env)
    try:
        yield shell
    finally:
        shell.close()


def waiting(stack: DevStack, prompt: str, folder: Path) -> str:
    """A task that asks."""
    with stack.client() as client:
        task_id = client.submit(prompt, working_dir=str(folder))
        wait_for(lambda: client.get(task_id).prompts, "the question")
    return task_id


def record_of(stack: DevStack, task_id: str) -> TaskRecord:
    with stack.client() as client:
        return client.get(task_id)


LINES = "first line\nsecond line: touch MINE; echo x > MINE\nthird; exit 3"


@pytest.mark.parametrize(
    ("pasted", "enters"),
    [
        (BEGIN + LINES.replace("\n", "\r") + END, 1),
        (BEGIN + LINES.replace("\n", "\r") + "\r" + END, 1),
        (LINES.replace("\n", "\r") + "\r", 0),
        (LINES.replace("\n", "\r"), 1),
        (BEGIN + "x" * 20_000 + "\r" + LINES.replace("\n", "\r") + END, 1),
    ],
    ids=["marked", "marked, with an end", "unmarked, with an end", "unmarked", "marked, longer than a line may be"],
)
def test_a_paste_is_one_answer(stack: DevStack, shell: Shell, tmp_path: Path, pasted: str, enters: int) -> None:
    """Every line of it, whether or not the terminal marks what is pasted; the shell below runs none of them."""
    task_id = waiting(stack, "ask", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see(QUESTION_END)
    shell.send(pasted)
    if enters:
        shell.see("exit 3")  # all of it stands there
        shell.send("\r")
    shell.is_back()
    wanted = pasted.replace(BEGIN, "").replace(END, "").replace("\r", "\n").strip()
    detail = record_of(stack, task_id).detail
    with stack.client() as client:
        said = str(client.conversation(task_id)[-2:])
    assert wanted.replace("\n", "\\n")[:9_000] in said, detail
    assert not (tmp_path / "MINE").exists()


def test_a_paste_without_marks_that_halts(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """On a slow line its rest belongs to the same answer: not to the next question, and not to the shell."""
    task_id = waiting(stack, "ask", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see(QUESTION_END)
    shell.send("first line\rsecond line\r")
    time.sleep(PASTE_PAUSE_S * 3)  # the halt itself
    shell.send("touch MINE\r")
    shell.is_back()
    with stack.client() as client:
        assert "'first line\\nsecond line\\ntouch MINE'" in str(client.conversation(task_id)[-2:])
    assert not (tmp_path / "MINE").exists()


def test_a_paste_into_a_permission_runs_nothing(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """Its first line is not taken for the answer, nor its second one for the next question, nor any by the shell."""
    task_id = waiting(stack, "twice", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see(PERMISSION_END)
    shell.send("y\ry\rtouch MINE\r")
    shell.see("type y, n, always, never or v")
    shell.see(PERMISSION_END)
    shell.send("\x04")
    shell.is_back()
    assert len(record_of(stack, task_id).prompts) == 2
    assert not (tmp_path / "MINE").exists()
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize(("keys", "code"), [("half an answer\x03", 130), ("\x04", 3)], ids=["Ctrl-C", "Ctrl-D"])
def test_who_leaves_has_a_sound_terminal(stack: DevStack, shell: Shell, tmp_path: Path, keys: str, code: int) -> None:
    """Nothing is sent, and what was typed on is not run by the shell."""
    task_id = waiting(stack, "ask", tmp_path)
    modes = shell.modes()
    shell.run(f"neuraphage attach {task_id}; echo ended $?")
    shell.see(QUESTION_END)
    shell.send(keys + "\rtouch MINE\r")
    shell.see(f"ended {code}")
    shell.is_back()
    assert shell.modes() == modes
    assert record_of(stack, task_id).status is Status.WAITING_FOR_USER
    assert not (tmp_path / "MINE").exists()


def test_a_plain_kill_restores_the_terminal(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """The modes of before, and no mark of the paste mode is left."""
    task_id = waiting(stack, "ask", tmp_path)
    modes = shell.modes()
    shell.run(f"neuraphage attach {task_id} & echo $! > pid; fg; echo ended $?")
    shell.see(QUESTION_END)
    shell.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), signal.SIGTERM)
    shell.see("ended 143")
    shell.is_back()
    assert shell.modes() == modes
    assert shell.seen.rindex("\x1b[?2004l") > shell.seen.rindex("\x1b[?2004h")


def test_all_answers_what_is_listed(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """Both calls are shown before anything is asked; one word allows these two, and not the next one."""
    task_id = waiting(stack, "twice", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see("1 of 2: May run_command run")
    shell.see("touch one")
    shell.see("2 of 2: May run_command run")
    shell.see("touch two")
    shell.see("all = yes to these 2")
    shell.see(PERMISSION_END)
    shell.send("all\r")
    shell.see("touch three")
    shell.see(PERMISSION_END)
    assert (tmp_path / "one").exists()
    assert (tmp_path / "two").exists()
    shell.send("n\r")
    shell.is_back()
    assert not (tmp_path / "three").exists()
    assert record_of(stack, task_id).status is Status.COMPLETED


def test_what_was_not_shown_is_not_allowed(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """`yes` is refused until v has shown the last of it, page by page."""
    task_id = waiting(stack, "long", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see("NOT SHOWN: 101 more lines")
    for word in ("y", "always"):
        shell.see(PERMISSION_END)
        shell.send(f"{word}\r")
        shell.see("not all of it was shown")
    shell.see(PERMISSION_END)
    assert "touch hidden" not in shell.seen
    shell.send("v\r")
    shell.see("47 of 301 rows, more")
    shell.send("\r")
    shell.see("94 of 301 rows")
    shell.send("q\r")
    shell.see("NOT SHOWN: 207 more rows")
    shell.see(PERMISSION_END)
    shell.send("y\r")
    shell.see("not all of it was shown")
    shell.see(PERMISSION_END)
    assert "touch hidden" not in shell.seen
    shell.send("v\r")
    shell.see("47 of 301 rows")
    shell.send("a\r")
    shell.see("touch hidden")
    shell.see(PERMISSION_END)
    shell.send("y\r")
    shell.is_back()
    assert (tmp_path / "hidden").exists()


def test_who_says_that_they_have_not_looked_may_allow(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """One more word, which nobody types by habit."""
    task_id = waiting(stack, "long", tmp_path)
    shell.run(f"neuraphage attach {task_id}")
    shell.see(PERMISSION_END)
    shell.send("y\r")
    shell.see("`yes unseen` allows")
    shell.see(PERMISSION_END)
    shell.send("yes unseen\r")
    shell.is_back()
    assert "touch hidden" not in shell.seen
    assert (tmp_path / "hidden").exists()


def test_a_long_answer_in_the_editor(stack: DevStack, shell: Shell, tmp_path: Path) -> None:
    """From the question with two keys, and from `answer --edit`; an editor that fails sends nothing."""
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'one\\ntwo\\n' > \"$1\"\n", encoding="utf-8")
    editor.chmod(0o700)
    task_id = waiting(stack, "ask", tmp_path)
    shell.run(f"EDITOR=false neuraphage answer {task_id} --edit; echo ended $?")
    shell.see("ended 2")
    shell.run(f"EDITOR={editor} VISUAL= neuraphage attach {task_id}")
    shell.see(QUESTION_END)
    shell.send("\x18\x05")
    shell.see("two")
    shell.send("\r")
    shell.is_back()
    other = waiting(stack, "ask", tmp_path)
    shell.run(f"EDITOR={editor} VISUAL= neuraphage answer {other} --edit; echo ended $?")
    shell.see("ended 0")
    with stack.client() as client:
        for one in (task_id, other):
            assert client.wait(one, timeout_s=PATIENCE_S).status is Status.COMPLETED
            assert "one\\ntwo" in str(client.conversation(one)[-2:])

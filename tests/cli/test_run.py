"""`run` and `attach` on real terminals of three widths and in pipes, against one stack with a scripted model."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clikit import EVENT_NAMES, PROCESS_LIMIT_S, run_process
from devstack import DevStack, wait_for
from neuraphage.model.task import Status, TaskRecord
from runscript import BEFORE, DONE, EVIL, FILE, INTRODUCTION, LONG, LOOK, OPTIONS, QUESTION, THOUGHT
from terminalkit import Terminal

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")
WIDTHS = [40, 80, 200]
PROMPT_END = r"answer \[no\]:"
OLD_LINE, NEW_LINE = '-    return "hi " + name', '+    title = "Dr. "'


@pytest.fixture(scope="module")
def kept_stack() -> Iterator[DevStack]:
    """One stack for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        stack = DevStack(Path(folder), PLAY)
        try:
            stack.start()
            yield stack
        finally:
            stack.kill()


@pytest.fixture
def stack(kept_stack: DevStack) -> DevStack:
    """The stack."""
    return kept_stack


@pytest.fixture
def project(tmp_path: Path) -> str:
    """The directory that tasks work in."""
    (tmp_path / FILE).write_text(BEFORE, encoding="utf-8")
    return str(tmp_path)


@pytest.fixture
def projects(tmp_path: Path) -> dict[int, str]:
    """One for each width."""
    for columns in WIDTHS:
        (tmp_path / str(columns)).mkdir()
        (tmp_path / str(columns) / FILE).write_text(BEFORE, encoding="utf-8")
    return {columns: str(tmp_path / str(columns)) for columns in WIDTHS}


def on_terminal(stack: DevStack, *arguments: str, columns: int = 80, **env: str) -> Terminal:
    return Terminal(*arguments, env=stack.env | env, columns=columns)


def runs(stack: DevStack, projects: dict[int, str], prompt: str, *options: str) -> list[Terminal]:
    """The same task on a terminal of each width, at once."""
    arguments = {columns: ("run", prompt, "--dir", project, *options, *PLAY) for columns, project in projects.items()}
    return [on_terminal(stack, *arguments[columns], columns=columns) for columns in WIDTHS]


def submit(stack: DevStack, prompt: str, project: str) -> str:
    """Submit without the second that a command takes to start."""
    with stack.client() as client:
        return client.submit(prompt, working_dir=project)


def task_id_in(text: str) -> str:
    """The short id that `run` says first."""
    found = re.search(r"task ([0-9a-f]{12})", text)
    assert found is not None, text
    return found[1]


def record_of(stack: DevStack, task_id: str) -> TaskRecord:
    with stack.client() as client:
        return client.get(task_id)


def test_a_whole_task_in_one_terminal(stack: DevStack, projects: dict[int, str]) -> None:
    """Text, thinking, a diff to allow, a command, results and cost; nothing too wide, no word torn, nothing evil."""
    for seen in runs(stack, projects, "polite please"):
        project = projects[seen.columns]
        seen.see(PROMPT_END)
        assert (Path(project) / FILE).read_text(encoding="utf-8") == BEFORE
        asked = "\n".join(seen.lines)
        for part in ("? May edit run?", f"> edit {FILE}", "@@ -2,7 +2,8 @@", OLD_LINE, NEW_LINE, "y = yes, n = no"):
            assert part in asked
        assert "a line wider than the others" in seen.text  # what is to be allowed is never cut
        assert f"in{project}" in "".join(seen.text.split())
        seen.type("maybe")
        seen.see("type y, n, always, never or v")
        seen.see(PROMPT_END)
        seen.type("y")
        seen.see("May run_command run")
        seen.see(PROMPT_END)
        seen.type("a")
        assert seen.ended() == 0
        assert 'title = "Dr. "' in (Path(project) / FILE).read_text(encoding="utf-8")
        assert seen.too_wide() == []
        for words in (THOUGHT, LOOK, "I make it polite.", f"> edit {FILE}: done", "14 lines before", "cleared"):
            assert words in seen.text
        assert re.search(r"turn 1 done, [\d,]+ tokens, \$0\.\d{4}", seen.text)
        assert re.search(r"\[exit code 0\].* completed 4 turns, [\d,]+ tokens, \$0\.\d{4}", seen.text)
        assert not any(code in seen.raw for code in ("\x1b]0;owned", "\x1b[2J", "\x9b"))


def test_the_first_ctrl_c_pauses_after_the_step_in_hand(
    stack: DevStack, projects: dict[int, str], tmp_path: Path
) -> None:
    """The reply in hand ends and is kept; the printed command goes on, and nothing counts as a crash."""
    go = tmp_path / "go"
    terminals = runs(stack, projects, f"held {go}", "--allow", "*")
    for seen in terminals:
        seen.see("Every")
        seen.interrupt()
        seen.see("leaves at once")
    go.touch()
    for seen in terminals:
        assert seen.ended() == 130
        assert [line for line in seen.too_wide() if "^C" not in line] == []  # the terminal's own echo
        # one is cut by the terminal's echo, and one by what is said
        assert seen.text.count("takes its time.") >= LONG.count("takes its time.") - 2
        task_id = task_id_in(seen.raw)
        record = record_of(stack, task_id)
        assert (record.status, record.counters.model_calls) == (Status.PAUSED, 1)
        assert f"neuraphage resume {task_id}" in seen.text
    with stack.client() as client:
        client.resume(task_id)
        counters = client.wait(task_id, timeout_s=PROCESS_LIMIT_S).counters
    assert (counters.model_calls, counters.model_resends, counters.recoveries_total) == (2, 0, 0)


def test_attach_shows_what_was_and_asks_in_place(stack: DevStack, projects: dict[int, str]) -> None:
    """Who comes late sees the replies and calls so far, answers a question by its number, and sees the end."""
    ids = {columns: submit(stack, "ask me", projects[columns]) for columns in WIDTHS}
    wait_for(lambda: all(record_of(stack, one).prompts for one in ids.values()), "the questions")
    for seen in [on_terminal(stack, "attach", task_id, columns=columns) for columns, task_id in ids.items()]:
        seen.see("answer:")
        assert INTRODUCTION in seen.text
        assert QUESTION in seen.text
        assert f"2 = {OPTIONS[1]}" in seen.text
        seen.type("3")
        seen.see("is no answer to")
        seen.see("answer:")
        seen.type("2")
        assert seen.ended() == 0
        assert f"You said: {OPTIONS[1]}" in seen.text
        assert seen.too_wide() == []


def test_a_killed_worker_does_not_end_the_view(stack: DevStack, projects: dict[int, str], tmp_path: Path) -> None:
    """kill -9 in mid-reply: the same view tells of it, and shows the rest of the reply."""
    go = tmp_path / "go"
    terminals = runs(stack, projects, f"held {go}", "--allow", "*")
    for seen in terminals:
        seen.see("Every")
    os.kill(stack.pid("worker"), signal.SIGKILL)
    go.touch()
    for seen in terminals:
        seen.see("recovered")
        seen.see("That")
        assert seen.ended() == 0
        assert "goes on with the reply that had begun" in seen.text
        assert LONG.strip() in re.sub(r" recovered: .* that had begun", "", seen.text)  # each word once, around it
        assert seen.too_wide() == []


def test_an_attached_view_can_be_left(stack: DevStack, project: str) -> None:
    """Ctrl-C detaches, and nothing else."""
    task_id = submit(stack, "slow please", project)
    seen = on_terminal(stack, "attach", task_id)
    seen.see("Every")
    seen.interrupt()
    seen.see("the task goes on")
    assert seen.ended() == 130
    assert record_of(stack, task_id).status in (Status.RUNNING, Status.WAITING_FOR_USER)


def test_an_answer_from_elsewhere_is_seen(stack: DevStack, project: str) -> None:
    """Two people, one question: who was not asked in time is told, and sees the task go on."""
    seen = on_terminal(stack, "run", "ask me", "--dir", project, *PLAY)
    seen.see("answer:")
    with stack.client() as client:
        client.answer(task_id_in(seen.raw), "Good day")
    assert seen.ended() == 0
    assert "You said: Good day" in seen.text
    assert re.search(r"answered by \S+", seen.text)


def test_enter_alone_denies(stack: DevStack, project: str) -> None:
    """The default answer is no; what was typed before the question counts for nothing. Ctrl-D leaves it open.
    With NO_COLOR there is no colour.
    """
    seen = on_terminal(stack, "run", "polite please", "--dir", project, *PLAY, NO_COLOR="1")
    seen.see("I look")
    seen.type("y")
    seen.see(PROMPT_END)
    seen.type("")
    seen.see("May run_command run")
    seen.see(PROMPT_END)
    seen.end_input()
    assert seen.ended() == 3
    assert "A person did not allow this edit call" in seen.text
    (left,) = record_of(stack, task_id_in(seen.raw)).prompts
    assert f"neuraphage answer {task_id_in(seen.raw)} {left.prompt_id[:8]} ANSWER" in seen.text
    assert (Path(project) / FILE).read_text(encoding="utf-8") == BEFORE
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", seen.raw) is None


def test_a_pipe_gets_plain_text_and_the_answer_command(stack: DevStack, project: str) -> None:
    """Exit 3, no control codes, and the printed command answers."""
    ran = stack.cli("run", "polite please", "--dir", project, *PLAY)
    assert ran.code == 3, ran.err
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert f"  | {LOOK}\n" in ran.out
    assert "? May edit run? (yes/no/always/never)\n" in ran.out
    command = ran.out.splitlines()[-1].split()
    assert command[:2] == ["neuraphage", "answer"]
    assert stack.cli(*command[1:-1], "yes").code == 0
    wait_for(lambda: "run_command" in str(record_of(stack, task_id_in(ran.out)).prompts), "the second question")
    with stack.client() as client:
        (second,) = client.get(task_id_in(ran.out)).prompts
        client.answer(task_id_in(ran.out), "yes", prompt_id=second.prompt_id)
    last = stack.cli("attach", task_id_in(ran.out))
    assert last.code == 0
    assert "cleared" in last.out
    assert "\x1b" not in last.out


def test_rules_of_a_project_are_followed_once_they_are_trusted(stack: DevStack, project: str) -> None:
    """Said at the head of a run until then; a worker that runs already needs no restart."""
    Path(project, "neuraphage.toml").write_text("rules = ['deny edit']\n", encoding="utf-8")
    run = ("run", "polite please", "--dir", project, "--allow", "*")
    ran = stack.cli(*run, *PLAY)
    assert ran.code == 0, ran.err
    assert f"{project}/neuraphage.toml has 1 rule that is not used" in ran.out
    assert stack.cli("trust", project).out.endswith("1 rule\n  deny edit\n")
    Path(project, FILE).write_text(BEFORE, encoding="utf-8")
    ran = stack.cli(*run, *PLAY)
    assert "that is not used" not in ran.out
    assert "The rule `deny edit` of the project's file forbids this edit call." in ran.out
    assert Path(project, FILE).read_text(encoding="utf-8") == BEFORE
    assert stack.cli("trust", "--remove", project).code == 0


def test_json_lines(stack: DevStack, project: str) -> None:
    """One document a line: the task, its history and pieces, and how it stands; the reply in them is whole."""
    ran = stack.cli("run", "polite please", "--dir", project, "--allow", "*", "--json", *PLAY)
    assert ran.code == 0, ran.err
    first, *middle, last = [json.loads(line) for line in ran.out.splitlines()]
    assert set(first) == {"task_id", "task"}
    assert {frozenset(line) for line in middle} == {
        frozenset(EVENT_NAMES),
        frozenset({"delta", "text"}),
    }
    assert LOOK in "".join(line["text"] for line in middle if line.get("delta") == "text")
    assert last["status"] == "Completed"
    assert last["task_id"] == last["task"] == first["task_id"] == first["task"]
    assert last["iteration"] == 4
    assert last["tokens"] > 0
    assert last["cost_microusd"] > 0
    assert EVIL not in ran.out
    assert DONE.removesuffix(EVIL) in ran.out


@pytest.mark.parametrize("way", ["-", "--file FILE", "--file -"])
def test_a_prompt_from_elsewhere(stack: DevStack, project: str, tmp_path: Path, way: str) -> None:
    """All of its lines, from standard input or a file; so is the message to a task that goes on."""
    prompt, message, file = "talk to me\nin caf\u00e9s,\n\nplease", "and\nnow?", tmp_path / "text"

    def run(text: str, *options: str) -> str:
        file.write_bytes(f"{text}\n".encode())
        where = [str(file) if word == "FILE" else word for word in way.split()]
        ran = run_process("run", *where, *options, *PLAY, env=stack.env, stdin=file.read_bytes())
        assert ran.code == 0, ran.err
        return ran.out

    first = run(prompt, "--dir", project)
    task_id = task_id_in(first)
    second = run(message, "--resume", task_id)
    assert record_of(stack, task_id).spec.prompt == prompt
    with stack.client() as client:
        said = [entry["content"][0]["text"] for entry in client.conversation(task_id) if entry["role"] == "user"]
    assert said == [prompt, message]
    assert ("This is answer 0" in first, "This is answer 1" in second) == (True, True)


def test_a_submitted_task_is_followed_to_its_end(stack: DevStack, project: str) -> None:
    """`submit --follow`: its id, then all that happens while it happens; exit 3 where it asks and nobody can answer."""
    ran = stack.cli("submit", "polite please", "--dir", project, "--allow", "*", "--follow")
    assert ran.code == 0, ran.err
    task_id, *lines = ran.out.splitlines()
    assert record_of(stack, task_id).status is Status.COMPLETED
    assert f"  | {LOOK}" in lines
    assert lines[-1].startswith("  4 turns, ")
    asks = stack.cli("submit", "ask me", "--dir", project, "-f")
    assert (asks.code, QUESTION in asks.out) == (3, True)


def test_a_task_that_fails(stack: DevStack, project: str) -> None:
    """Exit 1, with the reason."""
    ran = stack.cli("run", "fail please", "--dir", project, *PLAY)
    assert ran.code == 1
    assert "failed: There is nothing to greet." in ran.out
    assert "\n  0 turns done, " in ran.out


def test_the_answer_of_a_resumed_run(stack: DevStack, project: str) -> None:
    """`run --resume ID --answer TEXT` goes on where a pipe had to stop, and shows only what is new."""
    task_id = submit(stack, "ask me", project)
    wait_for(lambda: record_of(stack, task_id).prompts, "the question")
    ran = stack.cli("run", "--resume", task_id, "--answer", "Good day", *PLAY)
    assert ran.code == 0, ran.err
    assert "You said: Good day" in ran.out
    assert INTRODUCTION not in ran.out

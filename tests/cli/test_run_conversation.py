"""Conversations, and tasks that go on, on a real terminal against one stack with a scripted model."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clikit import run_process
from devstack import DevStack
from neuraphage.model.task import Status
from runscript import BEFORE, FILE
from terminalkit import Terminal

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")


@pytest.fixture(scope="module")
def stack() -> Iterator[DevStack]:
    """One stack for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        made = DevStack(Path(folder), PLAY)
        try:
            made.start()
            yield made
        finally:
            made.kill()


@pytest.fixture
def project(tmp_path: Path) -> str:
    """The directory that tasks work in."""
    (tmp_path / FILE).write_text(BEFORE, encoding="utf-8")
    return str(tmp_path)


def short_id(text: str) -> str:
    found = re.search(r"task ([0-9a-f]{12})", text)
    assert found is not None, text
    return found[1]


def test_a_conversation_in_one_terminal(stack: DevStack, project: str) -> None:
    """Each line is a message, `/end` and Ctrl-D leave, and the conversation waits to be taken up again."""
    seen = Terminal("run", "talk to me", "--mode", "conversational", "--dir", project, *PLAY, env=stack.env, columns=80)
    seen.see("This is answer 0")
    seen.see("/end or Ctrl-D leaves")
    seen.see("you:")
    seen.type("and now?")
    seen.see("This is answer 1")
    seen.see("you:")
    seen.type("/end")
    assert seen.ended() == 0
    task_id = short_id(seen.raw)
    assert f'neuraphage send {task_id} "..."' in seen.text
    with stack.client() as client:
        record = client.get(task_id)
        assert (record.status, record.counters.iteration) == (Status.WAITING_FOR_USER, 2)
        assert "/end" not in str(client.conversation(task_id))
    again = Terminal("attach", task_id, env=stack.env, columns=80)
    again.see("you:")
    again.type("once more")
    again.see("This is answer 2")
    again.see("you:")
    again.end_input()
    assert again.ended() == 0


def test_a_task_at_its_limit_goes_on_by_what_is_printed(stack: DevStack, project: str) -> None:
    """`run` names the command, which works; `run --resume` with a higher limit shows the task to its end."""
    first = run_process(
        "run", "polite please", "--max-turns", "1", "--allow", "*", "--dir", project, *PLAY, env=stack.env
    )
    assert first.code == 1
    task_id = short_id(first.out)
    assert f"`neuraphage retry {task_id} --max-turns 2`" in first.out
    refused = run_process("run", "--resume", task_id, *PLAY, env=stack.env)
    assert refused.code == 2
    assert f"`neuraphage retry {task_id} --max-turns 2`" in refused.err
    went_on = run_process("run", "--resume", task_id, "--max-turns", "9", *PLAY, env=stack.env)
    assert went_on.code == 0, went_on.out + went_on.err
    more = run_process("run", "--resume", task_id, "polite again", *PLAY, env=stack.env)
    assert more.code == 0, more.out + more.err
    with stack.client() as client:
        record = client.get(task_id)
    assert (record.status, record.limits.max_turns, record.turns_from) == (Status.COMPLETED, 9, 4)
    done = run_process("run", "--resume", task_id, *PLAY, env=stack.env)
    assert done.code == 2
    assert f'`neuraphage send {task_id} "..."`' in done.err


def test_what_run_names_when_its_stack_ends_with_it(project: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No other command reaches the task then, so neither the error nor the last line names one."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        env = DevStack(Path(folder), PLAY).env
        arguments = ("run", "polite please", "--max-turns", "1", "--allow", "*", "--dir", project, *PLAY)
        ran = run_process(*arguments, env=env)
        assert ran.code == 1, ran.out + ran.err
        task_id = short_id(ran.out)
        named = set(re.findall(r"`(neuraphage [^`]+)`", ran.out))
        assert named == {f"neuraphage run --resume {task_id} --script runscript:play --max-turns 2"}
        again = run_process("run", "--resume", task_id, "--max-turns", "9", *PLAY, env=env)
        assert again.code == 0, again.out + again.err

"""A real worker whose commands may reach one host: another one that a command was refused is told and asked about."""

from __future__ import annotations

import sys

import pytest

from neuraphage.cli.event_text import event_text
from neuraphage.model.task import Status
from sandboxkit import find_bubblewrap
from stackkit import Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
FETCH = (
    "import urllib.error, urllib.request\n"
    "try: urllib.request.urlopen('http://a.example/')\n"
    "except urllib.error.HTTPError as error: print(error.code)\n"
)


def test_a_refused_host_is_asked_about(stack: Stack) -> None:
    """The command is refused at once. The history has it, and a no is told to the model."""
    find_bubblewrap()
    stack.start_worker(allow_hosts="b.example")
    line = f"{sys.executable} - <<'E'\n{FETCH}E"
    task = stack.submit(task_prompt(turn("run", command(line)), turn("done")))
    wait_for(lambda: stack.record(task).status is Status.WAITING_FOR_USER, "the question")
    (refused,) = stack.events(task, "HostRefused")
    assert event_text(refused) == "run_command was refused the host a.example, port 80"
    (prompt,) = stack.record(task).prompts
    assert prompt.text.startswith("May commands of this task reach a.example:80?")
    stack.client.answer(task, "no: use the cache", prompt_id=prompt.prompt_id)
    (record,) = stack.finished(task)
    assert record.status is Status.COMPLETED
    assert "use the cache" in str(stack.client.conversation(task))

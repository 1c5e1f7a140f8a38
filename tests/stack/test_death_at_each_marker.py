"""kill -9 of a real worker at each of six markers: the task goes on from there, and nothing is done twice."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from neuraphage.model.effect import MarkerName
from neuraphage.model.task import Status
from neuraphage.queue.names import RUN_QUEUE
from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.scripts import waiting

pytestmark = pytest.mark.real_workers
ORDERS = "die-at"
WITHIN_A_TURN = ["task_created", "request_sent", "tool_started"]
"""Markers at which a process holds the task; at the others it has just given it back, and nobody recovers it."""
OF_A_SUMMARY = {MarkerName.SUMMARY_SENT, MarkerName.SUMMARY_RECEIVED}
"""These need a conversation that is too long: `tests/crash` has them."""


def kill_in_tool(stack: Stack, task: str, name: str) -> None:
    """kill -9 of the process that waits for a running command; the command may end when its successor has it."""
    wait_for(lambda: f"start{name}" in stack.lines(task), f"tool {name}")
    found = len(stack.events(task, "ToolAttached"))
    os.kill(stack.pid_of_owner(task), signal.SIGKILL)
    wait_for(lambda: len(stack.events(task, "ToolAttached")) > found, f"tool {name} to be found again")
    (stack.work_dir(task) / f"go{name}").touch()


def test_a_task_goes_on_from_each_marker_and_repeats_nothing(stack: Stack) -> None:
    """agent-framework#3938: a process dies at each marker, and while the second and third of three tools
    run. Each reply is asked for and paid once, each tool has run once, and the task ends."""
    orders = stack.folder / ORDERS
    shutil.rmtree(orders, ignore_errors=True)  # of a first try: the folder is that of several tests
    orders.mkdir()
    for marker in set(MarkerName) - OF_A_SUMMARY:
        (orders / marker.value).touch()
    stack.start_plain_worker("mortal", "-P", "prefork", "-c", "1", "-Q", RUN_QUEUE, app="stackkit.mortal_app")
    ask = turn("", ("ask_user", {"question": "Which one?"}))
    task = stack.submit(
        task_prompt(
            turn("words", command("echo ran1 >> log.txt"), *map(waiting, "23")), turn("done"), ask, turn("done")
        )
    )
    kill_in_tool(stack, task, "2")
    kill_in_tool(stack, task, "3")
    stack.finished(task)  # its process has died at this very write
    stack.client.send(task, "Go on.")
    wait_for(lambda: stack.record(task).status is Status.WAITING_FOR_USER, "the question")
    wait_for(lambda: not list(orders.iterdir()), "a death at every marker")
    stack.client.answer(task, "This one.")
    (record,) = stack.finished(task)
    recovered = [event.data["marker"] for event in stack.events(task, "TaskRecovered")]
    assert recovered == [*WITHIN_A_TURN, "tool_started", "tool_started"]
    assert stack.lines(task) == ["ran1", "start2", "end2", "start3", "end3"]
    assert [request["turn"] for request in stack.model_requests(task)] == [0, 1, 2, 3]
    assert len(stack.events(task, "ResponseReceived")) == record.counters.model_calls == 4
    assert (record.counters.tool_runs, record.counters.recoveries_total) == (4, 5), "three commands and the question"

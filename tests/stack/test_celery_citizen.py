"""neuraphage under Celery's own commands: what a Celery user tries first does what they expect."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuraphage.model.task import Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import (
    CHECKPOINT_TASK,
    CONTROL_QUEUE,
    RECOVERY_REPORT,
    RESUME_TASK,
    RUN_QUEUE,
    RUN_TURN,
    START_TASK,
    SWEEP,
)
from patience import PATIENCE_S
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for
from stackkit.process import StackProcess, kill, runs
from stackkit.scripts import SLOW

pytestmark = pytest.mark.real_workers
ANSWER_S = 10.0
ENDED = (Status.COMPLETED, Status.FAILED)


class Control:
    """`celery inspect` and `celery control`, asked of one worker by its node name."""

    def __init__(self, stack: Stack, worker: StackProcess) -> None:
        self._control = make_app(stack.settings).control
        lines = worker.output().splitlines()
        self.node = next(line.split()[-2] for line in reversed(lines) if line.endswith(" ready."))

    def inspect(self, what: str, *arguments: Any) -> Any:
        """The worker's answer."""
        asked = self._control.inspect(destination=[self.node], timeout=ANSWER_S)
        return getattr(asked, what)(*arguments)[self.node]

    def tell(self, what: str, **arguments: Any) -> Any:
        """Send a command, and return the worker's reply."""
        replies = self._control.broadcast(what, arguments, destination=[self.node], reply=True, timeout=ANSWER_S)
        return replies[0][self.node]

    def handed_out(self, task: str) -> list[str]:
        """Ids of the messages about a task that the worker has in hand."""
        return [request["id"] for request in self.inspect("active") if request["args"][0] == task]


def test_one_worker_without_queues_does_everything(stack: Stack) -> None:
    """No -Q: turns and the sweep, which finds a task whose message was lost; nothing else but beat runs."""
    stack.end_workers("beat")
    lost = stack.submit(task_prompt(turn("", command("echo 1 >> log.txt")), turn("done")))
    make_app(stack.settings).control.purge()
    worker = stack.start_plain_worker("plain", "-c", "2")
    stack.finished(lost)
    queues = Control(stack, worker).inspect("active_queues")
    assert sorted(queue["name"] for queue in queues) == [CONTROL_QUEUE, RUN_QUEUE]
    assert stack.lines(lost) == ["1"]


def test_every_line_about_a_task_has_its_fields(stack: Stack) -> None:
    """In JSON, those of Celery itself too: received, succeeded, and failed as we tell it to say."""
    worker = stack.start_worker(name="told", log_format="json")
    plans = [(turn("", command("true")), turn("done")), (turn("", ("fail_task", {"reason": "It cannot be done."})),)]
    tasks = [stack.submit(task_prompt(*plan)) for plan in plans]
    wait_for(lambda: all(stack.record(task).status in ENDED for task in tasks), "both tasks to end")

    def told_by(logger: str) -> set[tuple[str, int]]:
        """Turns that it told of; of one whose message came twice, once."""
        lines = (json.loads(line) for line in worker.output().splitlines() if line.startswith("{"))
        return {
            (line["task"], line["turn"]) for line in lines if line["logger"] == logger and line.get("task") in tasks
        }

    wait_for(lambda: len(told_by("celery.app.trace")) >= 3, "Celery to tell of each turn's end")
    lines = [json.loads(line) for line in worker.output().splitlines() if line.startswith("{")]
    about = {task: [line for line in lines if task in line["message"] or task == line.get("task")] for task in tasks}
    for task, turns in zip(tasks, (2, 1), strict=True):
        assert [line for line in about[task] if line.get("task") != task or "turn" not in line] == []
        for logger in ("celery.worker.strategy", "celery.app.trace"):
            told = sorted(turn for one, turn in told_by(logger) if one == task)
            assert told == [told[0] + number for number in range(turns)], "a line for each turn"


def test_inspect_tells_what_runs_and_shows_ids_only(stack: Stack) -> None:
    """ping, registered, active, reserved and stats while a command runs: all answer, and show no content."""
    control = Control(stack, stack.start_worker(name="asked"))
    task = stack.submit(task_prompt(turn("words of the model", HELD), turn("done")))
    stack.held(task)
    assert control.inspect("ping") == {"ok": "pong"}
    assert {RUN_TURN, SWEEP} <= set(control.inspect("registered"))
    (request,) = control.inspect("active")
    assert (request["name"], request["args"], request["kwargs"]) == (RUN_TURN, [task, 0, 1], {})
    assert request["id"].startswith(f"{task}.0.1.")
    assert control.inspect("reserved") == [], "nothing is taken in before there is a free slot for it"
    assert control.inspect("stats")["total"] == {RUN_TURN: 1}
    stack.let_go(task)


def test_an_operators_requests_are_celery_tasks_too(stack: Stack) -> None:
    """Resume, start, checkpoint and report by their names alone; what comes of each is the result in the log."""
    control = next(process for process in stack.processes if process.name == "control")
    app = make_app(stack.settings)
    task = stack.submit(task_prompt(turn("done")))
    stack.client.pause(task)
    began = len(control.output())

    def comes_of(name: str, *arguments: str) -> str:
        app.send_task(name, args=arguments)
        ended = re.compile(rf"Task {re.escape(name)}\[[^]]+\] succeeded in [^:]+: (.*)")
        return str(wait_for(lambda: ended.search(control.output()[began:]), f"{name} to end")[1])

    assert comes_of(START_TASK, task) == "'it does not wait for a worker'"
    assert comes_of(RESUME_TASK, task) == "'ACCEPTED'"
    assert stack.record(task).status is Status.QUEUED
    assert comes_of(CHECKPOINT_TASK, task).startswith("'task_created, turn 1, saved at ")
    assert comes_of(RECOVERY_REPORT) == "'none'"
    app.control.purge()
    began = len(control.output())
    assert comes_of(START_TASK, task) == "'sent'"
    assert stack.message_ids(RUN_QUEUE, task)
    stack.start_worker()
    stack.finished(task)


def test_a_rate_limit_slows_turns_down_and_loses_none(stack: Stack) -> None:
    """Turns beyond the rate wait in the worker; the sweep sends them again meanwhile: each runs once all the same."""
    control = Control(stack, stack.start_worker(name="limited", concurrency=4))
    assert "ok" in control.tell("rate_limit", task_name=RUN_TURN, rate_limit="4/s")
    tasks = [stack.submit(task_prompt(turn("", command("echo 1 >> log.txt")), turn("done"))) for _ in range(4)]
    records = stack.finished(*tasks)
    assert [stack.lines(task) for task in tasks] == [["1"]] * 4
    assert [record.fence for record in records] == [2] * 4, "one claim a turn"
    begun_ms = sorted(event.at_ms or 0 for task in tasks for event in stack.events(task, "RequestSent"))
    assert begun_ms[-1] - begun_ms[0] >= 1_000, "eight turns at four a second, of which the first come at once"


def test_a_revoked_turn_that_waits_is_cancelled_for_good(stack: Stack) -> None:
    """Revoke before any worker has taken the turn in: its task is cancelled, and no restarted worker runs it."""
    busy = stack.start_worker(name="busy", concurrency=1)
    control = Control(stack, busy)
    running = stack.submit(task_prompt(turn("", HELD), turn("done"), note="running"))
    stack.held(running)
    waiting = stack.submit(task_prompt(turn("", command("echo 1 >> log.txt")), turn("done"), note="waiting"))
    (message,) = stack.message_ids(RUN_QUEUE, waiting)
    control.tell("revoke", task_id=message)
    stack.let_go(running)
    wait_for(lambda: stack.record(waiting).status is Status.CANCELLED, "the task to be cancelled")
    assert "revoked in Celery" in (stack.record(waiting).detail.reason or "")
    busy.destroy()
    stack.start_worker(name="fresh", concurrency=1)
    stack.finished(stack.submit(task_prompt(turn("done"), note="after")))
    assert stack.lines(waiting) == []
    assert stack.model_requests(waiting) == []


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_terminating_a_turn_cancels_its_task_and_no_other(stack: Stack, pool: str) -> None:
    """`revoke --terminate`, and Flower's Terminate: the command ends, the task is cancelled, its neighbour and the
    worker go on; also with threads, which Celery itself cannot terminate."""
    worker = stack.start_worker(name=f"terminated-{pool}", pool=pool, concurrency=2)
    control = Control(stack, worker)
    doomed, spared = (stack.submit(task_prompt(turn("", HELD), turn("done"), note=note)) for note in "ab")
    stack.held(doomed, spared)
    pids = [worker.pid, *map(stack.pid_of_owner, (doomed, spared))]
    (message,) = control.handed_out(doomed)
    control.tell("revoke", task_id=message, terminate=True, signal="SIGKILL")
    wait_for(lambda: stack.record(doomed).status is Status.CANCELLED, "the task to be cancelled")
    (record,) = stack.let_go(spared)
    assert stack.lines(doomed) == ["start"]
    assert record.counters.recoveries_total == 0
    assert all(runs(pid) for pid in pids), "no process may be killed for it"


def test_control_shutdown_is_a_warm_one(stack: Stack) -> None:
    """`celery control shutdown` in mid-reply: the reply is committed and paid once, the next worker goes on."""
    leaving = stack.start_worker(name="leaving", concurrency=2)
    control = Control(stack, leaving)
    task = stack.submit(task_prompt(turn("a slow reply, " * 5, command("echo 1 >> log.txt"), **SLOW), turn("done")))
    stack.wait_marker(task, "request_sent")
    control._control.shutdown(destination=[control.node])
    assert leaving.wait_exit() == 0
    stack.start_worker(name="staying", concurrency=2)
    (record,) = stack.finished(task)
    assert [request["outcome"] for request in stack.model_requests(task)] == ["completed", "completed"]
    assert (stack.lines(task), record.counters.recoveries_total) == (["1"], 0)


def test_multi_starts_and_stops_a_detached_worker(stack: Stack, tmp_path: Path) -> None:
    """`celery multi` with -c, -l, --pidfile and --logfile, which is all that such a worker can write to: it runs a
    task, its file holds our lines, and stopping it removes its pid file."""
    files = (f"--pidfile={tmp_path}/%n.pid", f"--logfile={tmp_path}/%n%I.log")
    log, pid_file = tmp_path / "detached.log", tmp_path / "detached.pid"
    celery(stack, "-A", "workers.app", "multi", "start", "detached", "-P", "threads", "-c", "2", "-l", "INFO", *files)
    try:
        task = stack.submit(task_prompt(turn("", command("echo 1 >> log.txt")), turn("done")))
        stack.finished(task)
        wait_for(lambda: f"{task}.1." in text_of(log) and "'task completed" in text_of(log), "the log to tell of it")
    finally:
        pid = int(text_of(pid_file))
        try:
            celery(stack, "multi", "stop", "detached", *files)
            wait_for(lambda: not runs(pid), "it to end")
        finally:
            kill(pid)
    assert not pid_file.exists()


def test_a_mistyped_queue_is_refused_in_one_line(stack: Stack) -> None:
    """Nothing waits for ever on a queue that nobody fills; exit code 2, no traceback."""
    ran = celery(stack, "-A", "workers.app", "worker", "-Q", f"{RUN_QUEUE},np.rum", code=2)
    assert ran.strip() == "worker: -Q np.rum: no such queue; there are np.run and np.control"


def test_options_that_cannot_work_are_refused_in_one_line(stack: Stack) -> None:
    """As Celery really gives them; exit code 2, no traceback."""
    ran = celery(stack, "-A", "workers.app", "worker", "-P", "threads", "--autoscale", "4,1", code=2)
    assert ran.startswith("worker: --autoscale: a pool of threads cannot grow")
    assert ran.count("\n") == 1


@pytest.mark.parametrize("queues", [(), ("-Q", RUN_QUEUE), ("-Q", f"{CONTROL_QUEUE},{RUN_QUEUE}")])
def test_turns_without_a_key_of_the_model_are_refused_in_one_line(stack: Stack, queues: tuple[str, ...]) -> None:
    """A worker that would fail every turn does not start, nor count as ready; exit code 2, no traceback."""
    nowhere = {"NEURAPHAGE_OPENAI_BASE_URL": ""}  # the scripted model speaks OpenAI's API, too, and without a key
    said = celery(stack, "-A", "workers.app", "worker", *queues, code=2, model_key=False, **nowhere)
    assert said.startswith("worker: set ANTHROPIC_API_KEY")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NEURAPHAGE_ANTHROPIC_BASE_URL", "api.example", "worker: anthropic_base_url is no address"),
        ("ANTHROPIC_API_KEY", "sk-key\r", "worker: the API key is empty or holds spaces"),
    ],
)
def test_a_model_that_cannot_be_called_is_refused_in_one_line(stack: Stack, name: str, value: str, said: str) -> None:
    """A wrong address ended every task for good, a key of a file with Windows line ends failed every turn."""
    ran = celery(stack, "-A", "workers.app", "worker", code=2, **{name: value})
    assert ran.startswith(said)
    assert ran.count("\n") == 1


def celery(stack: Stack, *arguments: str, code: int = 0, model_key: bool = True, **more: str) -> str:
    """Run a celery command to its end; its error output."""
    ran = subprocess.run(
        [sys.executable, "-m", "celery", *arguments],
        env=stack.environment(model_key=model_key) | more,
        cwd=stack.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stderr


def text_of(path: Path) -> str:
    """A file's text; empty while there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""

"""Hooks in real workers: what a guard said holds over kill -9, and an observer is told again as a repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.dev.stack import worker_argv
from neuraphage.model.task import Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import CONTROL_QUEUE, OBSERVE
from neuraphage.store.observers import RedisObservers
from patience import PATIENCE_S
from stackkit import Stack, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
HOOKS = "stackkit.own_hooks:mine"
CHARGE = "stackkit.own_tools:charge"
PROMPT = task_prompt(turn("I charge.", ("charge", {"customer": "ada", "cents": 300})), turn("done"))


def lines(folder: Path, name: str) -> list[str]:
    file = folder / name
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_a_guard_is_asked_once_and_an_observer_told_again(stack: Stack, tmp_path: Path) -> None:
    """kill -9 of the worker in the tool: the next one makes the same changed call, and asks nobody. kill -9 of the
    control worker in the observer: the next one tells the same event, and says that it is a repeat."""
    hooked = {"hooks": HOOKS, "observe_s": 0.2}
    stack.plan.environ["OWN_HOOKS_FOLDER"] = str(tmp_path)
    store = RedisObservers(stack.store.context)

    app = make_app(stack.settings)

    def observed(condition: Callable[[], bool], what: str) -> None:
        """Have events told, as beat does, until it is so: a control worker without hooks takes messages, too."""

        def look() -> bool:
            app.send_task(OBSERVE, queue=CONTROL_QUEUE, expires=PATIENCE_S)
            return condition()

        wait_for(look, what)

    control = stack._celery("control", worker_argv(stack.plan, "control", CONTROL_QUEUE, 2), settings=hooked)
    control.start()
    observed(lambda: "announce" in store.places(), "the observer's first place")
    worker = stack.start_worker(tools=CHARGE, **hooked)
    task = stack.submit(PROMPT)
    folder = stack.work_dir(task)
    wait_for(lambda: len(lines(folder, "calls")) == 1, "the first call")
    worker.kill()
    stack.start_worker(tools=CHARGE, **hooked)
    wait_for(lambda: len(lines(folder, "calls")) == 2, "the second call")
    (folder / "go").touch()
    (record,) = stack.finished(task)
    assert record.status is Status.COMPLETED
    assert len(list((folder / "charges").iterdir())) == 1
    assert len(lines(tmp_path, "asked")) == 1
    observed(lambda: len(lines(tmp_path, "told")) == 1, "the observer")
    control.kill()
    stack.store.context.client.delete(stack.store.context.keys.observing)  # its hold runs out
    control = stack._celery("control-2", worker_argv(stack.plan, "control-2", CONTROL_QUEUE, 2), settings=hooked)
    control.start()
    (tmp_path / "go").touch()
    observed(lambda: len(lines(tmp_path, "told")) == 2, "the repeat")
    first, second = (line.split() for line in lines(tmp_path, "told"))
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("False", "True")

"""Flower over our app: a login for every page that tells of tasks, and a list that shows why a turn failed.

Changes: the class that Flower's command makes its server of, and the page of its metrics.
Why: without a login Flower shows every task to everyone who reaches its port, and its metrics need none in any case.
Read against: Flower 2.2.0, Tornado 6.6.1.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

FLOWER_COMMAND = "flower.command"
OPEN_VARIABLE = "FLOWER_UNAUTHENTICATED_API"
"""Flower's own word for an instance that everyone may read."""
NO_LOGIN = (
    "Flower would show every task to everyone who reaches its port: give it a login (FLOWER_BASIC_AUTH=user:password, "
    f"or FLOWER_AUTH with a provider), or ask for an open one with {OPEN_VARIABLE}=true"
)
_TASK_ID = re.compile(r", task-[0-9a-f-]{36}$")
_FAILED = re.compile(r"TaskFailed\(['\"]task failed(?:: \w+)?: (.*)['\"]\)", re.DOTALL)
COLUMNS = "uuid,state,args,result,received,runtime"
"""Of the list of tasks: those that tell most of a turn."""


def guard_flower(modules: Mapping[str, Any] = sys.modules, at_start: Callable[[], None] = lambda: None) -> None:
    """Put our rules into the Flower that starts in this process, if one does.

    Celery has loaded its command by then, as a plugin; nothing else of Flower is loaded here.

    Args:
        modules: what is loaded.
        at_start: called when a Flower starts, before it reads anything.
    """
    command = modules.get(FLOWER_COMMAND)
    if command is not None and not isinstance(command.Flower, _Guarded):
        command.Flower = _Guarded(command.Flower, at_start)


class _Guarded:
    """Makes a Flower by our rules.

    Args:
        make: Flower's own class.
        at_start: called before it is made.
    """

    def __init__(self, make: Callable[..., Any], at_start: Callable[[], None]) -> None:
        self._make = make
        self._at_start = at_start

    def __call__(self, *, options: Any, **more: Any) -> Any:
        has_login = bool(options.basic_auth or options.auth)
        if not has_login and os.environ.get(OPEN_VARIABLE, "").lower() not in ("1", "true", "yes", "on"):
            sys.exit(f"neuraphage: {NO_LOGIN}")
        self._at_start()
        if has_login:
            _close_metrics()
        if options.format_task is None:
            options.format_task = show_reason
        if options.tasks_columns == _default(options, "tasks_columns"):
            options.tasks_columns = COLUMNS
        return self._make(options=options, **more)


def _close_metrics() -> None:
    """Flower asks for no login there, although names of tasks and workers are told."""
    metrics = importlib.import_module("flower.views.monitor").Metrics
    metrics.get = importlib.import_module("tornado.web").authenticated(metrics.get)


def _default(options: Any, name: str) -> Any:
    return options._options[name.replace("_", "-")].default


def show_reason(task: Any) -> Any:
    """Change a row of Flower's list: a failed turn has its reason as its result, and no arguments name the task.

    The list has no other column for the reason, and a message's id names the task already.

    Args:
        task: of Flower; changed in place.

    Returns:
        The same.
    """
    task.args = _TASK_ID.sub("", task.args) if isinstance(task.args, str) else task.args
    if task.exception and not task.result:
        failed = _FAILED.fullmatch(task.exception)
        task.result = f"failed: {failed[1]}" if failed else task.exception
    elif isinstance(task.result, str):
        task.result = task.result.strip("'\"")
    return task

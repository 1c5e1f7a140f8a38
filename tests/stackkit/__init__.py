"""A whole stack of real processes for tests: server, scripted model, Celery workers, control worker and beat."""

from stackkit.scripts import HELD, command, plan, task_prompt, turn
from stackkit.stack import Stack
from stackkit.waiting import wait_for

__all__ = ["HELD", "Stack", "command", "plan", "task_prompt", "turn", "wait_for"]

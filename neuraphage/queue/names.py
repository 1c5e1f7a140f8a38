"""Names of Celery tasks and of their queues."""

from __future__ import annotations

RUN_TURN = "neuraphage.run_turn"
SWEEP = "neuraphage.sweep"
OBSERVE = "neuraphage.observe"
START_TASK = "neuraphage.start_task"
RESUME_TASK = "neuraphage.resume_task"
CHECKPOINT_TASK = "neuraphage.checkpoint_task"
RECOVERY_REPORT = "neuraphage.recovery_report"
RUN_QUEUE = "np.run"
CONTROL_QUEUE = "np.control"


def key_prefix(namespace: str) -> str:
    """What every key of the broker begins with."""
    return f"np:{{{namespace}}}:broker:"

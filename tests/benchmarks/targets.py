"""A new task for each run of a command that is timed: a second run would find it done, and be refused."""

from __future__ import annotations

import uuid

from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Changes, FinishTo, Lease, Signal, SignalKind, SuspendTo
from neuraphage.store.tasks import RedisStore

PROMPT_ID = "abcdef0123456789"


def queued(store: RedisStore) -> str:
    """A task that waits for a worker; returns its id."""
    task_id = f"task-{uuid.uuid4()}"
    store.create(TaskSpec(task_id=task_id, name="A task", prompt="Do it.", model="m"), task_id)
    return task_id


def asking(store: RedisStore) -> str:
    """One that asks for permission."""
    lease = _claimed(store)
    prompt = Prompt(prompt_id=PROMPT_ID, kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
    store.suspend(lease, Changes(prompts_opened=(prompt,)), SuspendTo.WAIT)
    return lease.task_id


def paused(store: RedisStore) -> str:
    """One that a person has paused."""
    task_id = queued(store)
    store.signal(task_id, Signal(kind=SignalKind.PAUSE, key=task_id))
    return task_id


def failed(store: RedisStore) -> str:
    """One that has failed, and can be retried."""
    lease = _claimed(store)
    detail = {"error": "No.", "recoverable": True}
    store.finish(lease, Changes(add={"model_calls": 1}), FinishTo.FAILED, 0, detail)
    return lease.task_id


def _claimed(store: RedisStore) -> Lease:
    task_id = queued(store)
    lease = store.claim(task_id, 1, "process", uuid.uuid4().hex[:16]).lease
    if lease is None:
        raise RuntimeError(f"{task_id} was not granted")
    return lease


TARGETS = {"queued": queued, "asking": asking, "paused": paused, "failed": failed}
"""By what a command needs it to be."""

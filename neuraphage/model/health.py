"""Health of worker processes: what one writes down, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """What a worker process last wrote down. Times are this machine's boot time, seconds.

    Args:
        host: see runtime.host.host_id.
        pid, start_time: the process.
        name: Celery's node name.
        period_s: how often it writes.
        at_s: when it wrote this.
        stored_at_s: when the state server last took a write of it; 0 when it refused the last one.
        consuming: whether it took in messages then.
        refusal: what the state server refuses it, in words; empty when it refuses nothing, or is away.
    """

    host: str
    pid: int
    start_time: float
    name: str
    period_s: float
    at_s: float
    stored_at_s: float
    consuming: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Health of one process.

    Args:
        name: its node name.
        pid: its process id.
        live: it answers.
        ready: it is live, the state server takes its writes, and it takes in messages.
        problems: what is wrong, a sentence each; empty when ready.
    """

    name: str
    pid: int
    live: bool
    ready: bool
    problems: tuple[str, ...] = ()

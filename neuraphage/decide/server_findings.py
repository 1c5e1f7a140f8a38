"""From readings of the servers, of the workers and of what is stored, to findings of `doctor`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.filesize import decimal

from neuraphage.decide.findings import Finding, Level

OLDEST_SERVER = (6, 2)
CLOCK_LIMIT_MS = 2_000
"""Ids, ages and logs of two hosts are compared by people and by retention; leases go by the server's clock alone."""
MEMORY_WARNING, MEMORY_PROBLEM = 0.75, 0.95
SHOWN = 5
"""Broken tasks that are named."""
LATE_SWEEPS, MISSING_SWEEPS = 2, 5
"""In sweep intervals: beat is late; nobody sweeps, not even the watchers, which stand in after three."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server told about itself. None: it did not say, or this user may not ask.

    Args:
        version: as Redis counts (Valkey tells that too).
        run_id: random name of the server process.
        db: number of the database.
        appendonly: whether writes are kept on disk.
        appendfsync: when they are on the disk.
        maxmemory_policy: what it does when memory is full.
        used_bytes, limit_bytes: memory; a limit of 0 is none.
        ahead_ms: how far its clock is ahead of this host's.
    """

    version: str
    run_id: str = ""
    db: int | None = None
    appendonly: bool | None = None
    appendfsync: str | None = None
    maxmemory_policy: str | None = None
    used_bytes: int = 0
    limit_bytes: int = 0
    ahead_ms: int | None = None


def server_findings(name: str, info: ServerInfo) -> list[Finding]:
    """A server that answers.

    Args:
        name: state or broker.
        info: what it told.
    """
    numbers = tuple(int(part) for part in info.version.split(".")[:2] if part.isdecimal())
    old = len(numbers) == 2 and numbers < OLDEST_SERVER
    version = Finding(
        f"{name} server", Level.PROBLEM if old else Level.OK, f"version {info.version}", old * "use 6.2 or newer"
    )
    findings = [version, _memory(name, info)]
    policy, right = info.maxmemory_policy, "noeviction"
    if policy not in (None, right):
        to_do = f"CONFIG SET maxmemory-policy {right}, and in its configuration: else it throws tasks away when full"
        findings.append(Finding(f"{name} eviction", Level.PROBLEM, f"maxmemory-policy is {policy}", to_do))
    elif policy == right:
        findings.append(Finding(f"{name} eviction", Level.OK, f"maxmemory-policy is {right}"))
    return findings


def _memory(name: str, info: ServerInfo) -> Finding:
    check = f"{name} memory"
    if not info.limit_bytes:
        return Finding(check, Level.OK, f"{decimal(info.used_bytes)} are used; there is no limit")
    share = info.used_bytes / info.limit_bytes
    found = f"{decimal(info.used_bytes)} of {decimal(info.limit_bytes)} are used ({share:.0%})"
    to_do = "raise maxmemory, or let ended tasks go sooner (exec_retention_s, conversation_retention_s)"
    if share >= MEMORY_PROBLEM:
        return Finding(check, Level.PROBLEM, f"{found}; a full server refuses every write", to_do)
    if share >= MEMORY_WARNING:
        return Finding(check, Level.WARNING, found, to_do)
    return Finding(check, Level.OK, found)


def durability_findings(info: ServerInfo) -> list[Finding]:
    """Whether the state server keeps what it acknowledged. The broker need not: its messages are made again."""
    check = "durability"
    if info.appendonly is False:
        to_do = "CONFIG SET appendonly yes, and in its configuration: else a restart loses every task"
        return [Finding(check, Level.PROBLEM, "appendonly is no", to_do)]
    if info.appendonly is None or info.appendfsync is None:
        to_do = "look yourself: appendonly must be yes, appendfsync always"
        return [Finding(check, Level.WARNING, "the server does not tell how it writes to disk", to_do)]
    if info.appendfsync != "always":
        lost = "the last second of committed work" if info.appendfsync == "everysec" else "committed work"
        to_do = f"CONFIG SET appendfsync always, unless a power cut may cost {lost}"
        return [Finding(check, Level.WARNING, f"appendfsync is {info.appendfsync}", to_do)]
    return [Finding(check, Level.OK, "appendonly is yes, appendfsync is always")]


def clock_finding(info: ServerInfo) -> Finding:
    """The clocks of this host and of the state server."""
    if info.ahead_ms is None:
        return Finding("clock", Level.WARNING, "the server's time cannot be read", "let this user run TIME")
    seconds = info.ahead_ms / 1000
    found = f"the server's clock is {abs(seconds):.1f} s {'ahead of' if seconds >= 0 else 'behind'} this host's"
    if abs(info.ahead_ms) > CLOCK_LIMIT_MS:
        return Finding("clock", Level.PROBLEM, found, "set both clocks by NTP")
    return Finding("clock", Level.OK, found)


def access_finding(problem: str | None, *, is_told: bool) -> Finding:
    """Whether the state server lets this user run every command that neuraphage runs.

    Args:
        problem: what was refused, or None.
        is_told: whether the server tells its rules; one before Redis 7 is tried, with the scripts' commands alone.
    """
    check = "access rules"
    if problem is not None:
        return Finding(check, Level.PROBLEM, problem, "until then workers wait and begin nothing")
    found = "this user may run every command" if is_told else "this user may run every command of the scripts"
    return Finding(check, Level.OK, found)


def databases_finding(state: ServerInfo, broker: ServerInfo) -> Finding:
    """Whether tasks and messages lie apart."""
    if state.run_id and state.run_id == broker.run_id and state.db == broker.db:
        to_do = "give broker_url another database number: a flush of the queue would delete every task"
        return Finding("databases", Level.PROBLEM, f"state and broker share database {state.db} of a server", to_do)
    return Finding("databases", Level.OK, "state and broker lie apart")


def records_finding(looked_at: int, wrong: Sequence[str], *, whole: bool) -> Finding:
    """Whether indexes agree with the records of the tasks.

    Args:
        looked_at: tasks that were looked at.
        wrong: what was found, one sentence each.
        whole: whether there was time for all.
    """
    check, part = "records", "" if whole else ", not all: the sweep looks through the rest, or run neuraphage repair"
    if wrong:
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        found = "; ".join(wrong[:SHOWN]) + more
        return Finding(check, Level.PROBLEM, found, "neuraphage repair --dry-run, then neuraphage repair")
    agree = "1 task agrees with its" if looked_at == 1 else f"{looked_at} tasks agree with their"
    return Finding(check, Level.OK, f"{agree} indexes{part}")


def workers_findings(queues: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> list[Finding]:
    """Who takes messages.

    Args:
        queues: of each worker that answered, by its node name.
        wanted: queues that must have one.
    """
    findings = []
    for queue in wanted:
        names = sorted(name for name, taken in queues.items() if queue in taken)
        if names:
            findings.append(Finding(f"workers of {queue}", Level.OK, ", ".join(names)))
        else:
            to_do = f"start one: celery -A neuraphage.celery_app worker -P threads -Q {queue}; locally, neuraphage dev"
            findings.append(Finding(f"workers of {queue}", Level.PROBLEM, "no worker answers", to_do))
    return findings


def sweep_finding(last_ms: int, now_ms: int, interval_s: float) -> Finding:
    """Whether beat asks for sweeps and somebody does them.

    Args:
        last_ms: server time of the last sweep; 0 for never.
        now_ms: server time.
        interval_s: of the sweep.
    """
    to_do = "start beat (celery -A neuraphage.celery_app beat) and a worker of np.control"
    if last_ms <= 0:
        return Finding("beat", Level.PROBLEM, "no sweep has ever run in this namespace", to_do)
    age_s = max(0.0, (now_ms - last_ms) / 1000)
    found = f"the last sweep was {age_s:.1f} s ago; one is due every {interval_s:g} s"
    if age_s > MISSING_SWEEPS * interval_s:
        return Finding("beat", Level.PROBLEM, found, to_do)
    if age_s > LATE_SWEEPS * interval_s:
        return Finding("beat", Level.PROBLEM, f"{found}; the watchers of workers stand in for beat", to_do)
    return Finding("beat", Level.OK, found)

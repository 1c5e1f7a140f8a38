"""A store with short cuts for tests: tasks brought into any status, time moved by writing older scores."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import fakeredis

from eventkit import index_faults, stamp_faults, stored_events
from everykind import missing_kinds
from neuraphage.decide.superseding import superseding
from neuraphage.model.dependency import Dependency, OnFailure
from neuraphage.model.message import Entry
from neuraphage.model.prompt import InboxItem, Prompt, PromptKind
from neuraphage.model.task import TERMINAL, Status, TaskSpec
from neuraphage.ports import (
    Changes,
    Claimed,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    GoneOn,
    HeldTask,
    Lease,
    Recovered,
    Settled,
    Signal,
    SignalKind,
    Signalled,
    SuspendTo,
)
from neuraphage.settings import Settings
from neuraphage.store import invariant
from neuraphage.store.keys import PERMANENT
from neuraphage.store.tasks import RedisStore

_numbers = count(1)
MODEL_CALL = {"model_calls": 1}
"""Counters of a turn that committed a reply; a record with turns but without replies counts as broken."""
ASK = "ask-1"
TALK = "turn-0:conversation"
CHANNELS = ("task", "messages", "turn", "inbox", "events", "signals", "why")
"""The keys of one task, by their names in keys.py."""


def _string(pipe: Any, name: bytes) -> object:
    return pipe.get(name)


CONTENT: Mapping[bytes, Callable[[Any, bytes], object]] = {
    b"hash": lambda pipe, name: pipe.hgetall(name),
    b"zset": lambda pipe, name: pipe.zrange(name, 0, -1, withscores=True),
    b"list": lambda pipe, name: pipe.lrange(name, 0, -1),
    b"stream": lambda pipe, name: pipe.xrange(name),
}
"""How to read a key, by its type."""


class FixedClock:
    """A clock that counts its readings, so that two readings differ."""

    def __init__(self) -> None:
        self.readings = 0

    def boottime_s(self) -> float:
        self.readings += 1
        return float(self.readings)

    def wall_ms(self) -> int:
        return 1_000


def question(prompt_id: str = ASK, deadline_ms: int | None = None) -> Prompt:
    """A permission prompt, or a conversation prompt when the id says so."""
    kind = PromptKind.CONVERSATION if prompt_id.endswith(":conversation") else PromptKind.PERMISSION
    return Prompt(prompt_id=prompt_id, kind=kind, text="May I?", deadline_ms=deadline_ms)


def text_entry(text: str, turn: int = 0) -> Entry:
    """A conversation entry of one text block."""
    return Entry(role="user", content=[{"type": "text", "text": text}], turn=turn)


STAYS = -1
"""PTTL of a key without an expiry; -2 is one that is gone."""


@dataclass
class StoreKit:
    """One store in its own namespace.

    Args:
        store: the store under test.
        real: whether it is a real server.
        broken_on_purpose: set by a test that plants a breach; the closing checks are then left out.
    """

    store: RedisStore
    real: bool = False
    broken_on_purpose: bool = False
    claims: count[int] = field(default_factory=lambda: count(1))

    # --- short cuts ---

    @property
    def client(self) -> Any:
        return self.store.context.client

    @property
    def keys(self) -> Any:
        return self.store.context.keys

    def status(self, task_id: str) -> Status:
        return Status(self.client.hget(self.keys.task(task_id), "status").decode())

    def field(self, task_id: str, name: str) -> str | None:
        raw = self.client.hget(self.keys.task(task_id), name)
        return None if raw is None else raw.decode()

    def number(self, task_id: str, name: str) -> int:
        return int(self.field(task_id, name) or 0)

    def place(self, task_id: str) -> str:
        names = ("outbox", "leases", "timers", "waits")
        return "+".join(n for n in names if self.client.zscore(getattr(self.keys, n), task_id) is not None)

    def inbox(self, task_id: str) -> list[bytes]:
        found: list[bytes] = self.client.lrange(self.keys.inbox(task_id), 0, -1)
        return found

    # --- tasks in each status ---

    def create(
        self,
        key: str | None = None,
        task_id: str | None = None,
        prompt: str = "Do it.",
        folder: str | None = None,
        after: Iterable[Dependency] = (),
    ) -> str:
        task_id = task_id or f"task-{uuid.UUID(int=next(_numbers))}"
        spec = TaskSpec(
            task_id=task_id, name="A task", prompt=prompt, model="m", working_dir=folder, blocked_by=tuple(after)
        )
        made, found, _ = self.store.create(spec, key or f"key-{task_id}")
        assert made
        return found

    def try_claim(
        self, task_id: str, *, seq: int | None = None, process: str = "p1", claim: str = "", request: str = ""
    ) -> Claimed:
        seq = self.number(task_id, "seq") if seq is None else seq
        return self.store.claim(task_id, seq, process, claim or f"claim-{next(self.claims)}", request)

    def claim(self, task_id: str, process: str = "p1", claim: str = "") -> Lease:
        claimed = self.try_claim(task_id, process=process, claim=claim)
        assert claimed.verdict is ClaimVerdict.GRANTED
        assert claimed.lease is not None
        return claimed.lease

    def after(self, *awaited: str, on_failure: OnFailure = OnFailure.BLOCK) -> str:
        """A new task that waits for others."""
        return self.create(after=[Dependency(task_id=one, on_failure=on_failure) for one in awaited])

    def edge(self, kind: SignalKind) -> dict[str, Any]:
        """What a signal about a dependency needs beside: a new task to wait for. Nothing for another kind."""
        if kind not in (SignalKind.DEPEND, SignalKind.UNDEPEND):
            return {}
        return {"dependency": Dependency(task_id=self.create())}

    def depend(self, task_id: str, on: str, on_failure: OnFailure = OnFailure.BLOCK, key: str = "") -> Signalled:
        return self.send(task_id, SignalKind.DEPEND, key, dependency=Dependency(task_id=on, on_failure=on_failure))

    def undepend(self, task_id: str, on: str) -> Signalled:
        return self.send(task_id, SignalKind.UNDEPEND, dependency=Dependency(task_id=on))

    def end(self, task_id: str, status: Status) -> Settled | Signalled:
        """Bring a task that may be claimed to this end."""
        if status is Status.CANCELLED:
            return self.send(task_id, SignalKind.CANCEL)
        to = FinishTo(status.value.lower())
        return self.finish(self.claim(task_id), to, summary="Done.", error="No.", recoverable=True)

    def running(self) -> tuple[str, Lease]:
        task_id = self.create()
        return task_id, self.claim(task_id)

    def suspend(self, lease: Lease, to: SuspendTo, changes: Changes | None = None, **more: Any) -> Settled:
        return self.store.suspend(lease, changes or Changes(), to, **more)

    def finish(self, lease: Lease, to: FinishTo, changes: Changes | None = None, **detail: Any) -> Settled:
        iteration = self.number(lease.task_id, "iteration")
        return self.store.finish(lease, changes or Changes(add=MODEL_CALL), to, iteration, detail)

    def go_on(
        self,
        lease: Lease,
        to: FinishTo = FinishTo.NEXT,
        changes: Changes | None = None,
        *,
        claim: str = "",
        request: str = "",
        **detail: Any,
    ) -> GoneOn:
        claim = claim or f"claim-{next(self.claims)}"
        iteration = self.number(lease.task_id, "iteration")
        ending = (lease, changes or Changes(add=MODEL_CALL), to, iteration, detail)
        return self.store.go_on(*ending, process_id="p1", claim_id=claim, request_id=request)

    def waiting(self, *prompts: Prompt) -> str:
        task_id, lease = self.running()
        opened = Changes(prompts_opened=prompts or (question(),))
        assert self.suspend(lease, SuspendTo.WAIT, opened).status is Status.WAITING_FOR_USER
        return task_id

    def put(self, status: Status) -> str:
        """A new task in this status (Running: leased)."""
        if status is Status.QUEUED:
            return self.create()
        if status is Status.WAITING_FOR_USER:
            return self.waiting()
        task_id, lease = self.running()
        if status is Status.BLOCKED:
            self.suspend(lease, SuspendTo.BLOCKED, detail={"resource": "file:a"})
        elif status is Status.PAUSED:
            self.send(task_id, SignalKind.PAUSE)
            self.suspend(lease, SuspendTo.PAUSE)
        elif status is Status.COMPLETED:
            self.finish(lease, FinishTo.COMPLETED, summary="Done.")
        elif status is Status.FAILED:
            self.finish(lease, FinishTo.FAILED, error="No.", recoverable=True)
        elif status is Status.CANCELLED:
            self.send(task_id, SignalKind.CANCEL)
            assert self.suspend(lease, SuspendTo.SHUTDOWN).verdict is CommitVerdict.CANCELLED
        assert self.status(task_id) is status
        return task_id

    def send(self, task_id: str, kind: SignalKind, key: str = "", **more: Any) -> Signalled:
        key = key or f"signal-{next(_numbers)}"
        if kind is SignalKind.RETRY_REPLY:
            more = {**self.of_last_entry(task_id), **more} if "seq" not in more else more
        return self.store.signal(task_id, Signal(kind=kind, key=key, **more))

    def of_last_entry(self, task_id: str) -> dict[str, Any]:
        """What retry_reply is given that is to supersede the last entry, as things stand."""
        seq, length = self.client.hget(self.keys.task(task_id), "seq"), self.client.llen(self.keys.messages(task_id))
        return {"entry": superseding(length - 1, 0), "seq": int(seq or 0)}

    def plant(self, task_id: str, kind: str = "input", prompt_id: str | None = None) -> bytes:
        """Send input or an answer and return its stored bytes."""
        sent = self.send(task_id, SignalKind(kind), text="words", prompt_id=prompt_id)
        assert sent.verdict.value == "ACCEPTED"
        return self.inbox(task_id)[-1]

    # --- time, by writing older values ---

    def expire_lease(self, task_id: str, ago_ms: int = 1_000) -> None:
        self.client.zadd(self.keys.leases, {task_id: self.store.now_ms() - ago_ms})

    def age_mark(self, task_id: str, by_ms: int | None = None) -> None:
        """Make the first visit of an expired lease older (by two heartbeats if not told)."""
        by_ms = int(self.store.context.settings.heartbeat_s * 2000) if by_ms is None else by_ms
        expiry, _, seen = self.client.hget(self.keys.suspects, task_id).decode().partition(":")
        self.client.hset(self.keys.suspects, task_id, f"{expiry}:{int(seen) - by_ms}")

    def due(self, zset: str, task_id: str) -> None:
        self.client.zadd(getattr(self.keys, zset), {task_id: self.store.now_ms() - 1})

    def held(self, task_id: str) -> HeldTask:
        return next(h for h in self.store.held_tasks(until_ms=None, limit=100) if h.task_id == task_id)

    def recover(self, task_id: str, evidence: str = "gone", held: HeldTask | None = None) -> Recovered:
        return self.store.recover(held or self.held(task_id), evidence)

    def under(self, **settings: Any) -> StoreKit:
        """The same store under other settings."""
        context = self.store.context
        other = new_kit(self.client, **settings)
        other.store.context = replace(context, settings=other.store.context.settings)
        return other

    # --- whole state ---

    def state(self) -> dict[str, Any]:
        """Everything in the namespace: content and whether it expires."""
        names = self._names()
        kinds = self._asked(names, lambda pipe, name: pipe.type(name))
        contents = self._asked(
            zip(names, kinds, strict=True), lambda pipe, pair: CONTENT.get(pair[1], _string)(pipe, pair[0])
        )
        left_ms = self._asked(names, lambda pipe, name: pipe.pttl(name))
        rows = zip(names, contents, left_ms, strict=True)
        return {name.decode(): (content, expiry_ms >= 0) for name, content, expiry_ms in rows}

    def snapshot(self) -> dict[bytes, tuple[bytes, int]]:
        """Every key of the namespace, serialised."""
        names = self._names()
        dumps = self._asked(names, lambda pipe, name: pipe.dump(name))
        left_ms = self._asked(names, lambda pipe, name: pipe.pttl(name))
        return {name: (dump, max(0, ms)) for name, dump, ms in zip(names, dumps, left_ms, strict=True)}

    def _names(self) -> list[bytes]:
        return list(self.client.scan_iter(match=self.keys.prefix + "*", count=1000))

    def _asked(self, about: Iterable[Any], ask: Callable[[Any, Any], object]) -> list[Any]:
        """One question about each, in one round trip."""
        pipe = self.client.pipeline(transaction=False)
        for one in about:
            ask(pipe, one)
        return pipe.execute()

    def restore(self, saved: dict[bytes, tuple[bytes, int]]) -> None:
        """Put the namespace back to a snapshot, as a server that lost its last writes."""
        self.client.flushdb()
        for name, (raw, ttl_ms) in saved.items():
            self.client.restore(name, ttl_ms, raw)

    def leaked_keys(self) -> list[str]:
        """Keys that stay for ever although nothing needs them."""
        leaked, names = [], self._names()
        left_ms = self._asked(names, lambda pipe, name: pipe.pttl(name))
        for key, expiry_ms in zip(names, left_ms, strict=True):
            name = key.decode()
            if expiry_ms != STAYS:
                continue  # it expires, or has done so since it was listed
            _, is_task, rest = name.partition(":task:")
            if not PERMANENT.match(name) or (is_task and self._is_over(rest.split(":")[0])):
                leaked.append(name)
        return leaked

    def _is_over(self, task_id: str) -> bool:
        raw = self.field(task_id, "status")
        return raw is None or Status(raw) in TERMINAL

    def leftovers(self) -> list[str]:
        """What stands beside a task that nothing in it asks for: deadlines, remembered answers, expiries."""
        found = []
        for task_id in map(bytes.decode, self.client.zrange(self.keys.ids, 0, -1)):
            fields = self.client.hgetall(self.keys.task(task_id))
            answers = {name[2:] for name in fields if name.startswith(b"a:")}
            found += [f"{task_id}: an answer to {a!r}, which is not open" for a in answers if b"p:" + a not in fields]
            if b"status" in fields and Status(fields[b"status"].decode()) not in TERMINAL:
                kept = [getattr(self.keys, name)(task_id) for name in CHANNELS]
                found += [f"{key} would expire under its task" for key in kept if self.client.pttl(key) >= 0]
        for member, score in self.client.zrange(self.keys.deadlines, 0, -1, withscores=True):
            found += [f"{member!r}: no deadline was set"] if score == 0 else []
        return found

    def check(self) -> None:
        """What must hold after every test."""
        if not self.broken_on_purpose:
            assert invariant.violations(self.store.context) == []
            assert self.leaked_keys() == []
            assert self.leftovers() == []
            assert index_faults(self.store.context) == []
            found = [fault for event in stored_events(self.store.context) for fault in stamp_faults(event)]
            assert not found, found
            assert missing_kinds(self.store.context) == []


def item(raw: bytes) -> InboxItem:
    """The item of an inbox value."""
    return InboxItem.model_validate_json(raw.partition(b"\n")[2])


def new_kit(client: Any = None, **settings: Any) -> StoreKit:
    """A kit in a fresh namespace; on a fake server of its own unless a client is given."""
    chosen = Settings(namespace=f"t{next(_numbers)}", **{"max_inbox_items": 4, **settings})
    real = client is not None
    client = client if real else fakeredis.FakeRedis(server=fakeredis.FakeServer())
    return StoreKit(RedisStore(chosen, FixedClock(), client=client), real=real)

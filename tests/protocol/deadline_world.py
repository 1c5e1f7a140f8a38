"""The server's clock goes on, and sweeps answer the prompts whose time is over; people are late, or are not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deadline_oracle import TALKS
from oracle import look
from world import World as Others

from neuraphage.decide.fate import fate_of
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import SignalKind, SignalVerdict
from neuraphage.runtime.sweep import Sweep
from neuraphage.store import queries
from storekit import StoreKit, item

Due = Sequence[tuple[str, str, str]]
TIMES = ("since", "saved_at", "unsafe_until", "held_from", "created_at", "started_at", "starts_at")
"""Fields of a record that hold a time of the server."""
TIMED_SETS = ("leases", "timers", "outbox", "waits", "deadlines")


def pass_time(kit: StoreKit, task_id: str, by_ms: int) -> None:
    """Let the server's clock go on, for one task: each time that is stored of it lies so much further back."""
    keys, client = kit.keys, kit.client
    for zset in [*(getattr(keys, name) for name in TIMED_SETS), keys.status(kit.status(task_id))]:
        for member in client.zrange(zset, 0, -1):
            client.zincrby(zset, -by_ms, member)
    record, changed = client.hgetall(keys.task(task_id)), {}
    for name, raw in record.items():
        if name.decode() in TIMES and int(raw) > 0:
            changed[name] = int(raw) - by_ms
        elif name.startswith(b"p:"):
            prompt = json.loads(raw)
            moved = {key: prompt[key] - by_ms for key in ("deadline_ms", "opened_at_ms") if prompt.get(key)}
            changed[name] = json.dumps({**prompt, **moved}, separators=(",", ":"))
    client.hset(keys.task(task_id), mapping=changed)
    mark = client.hget(keys.suspects, task_id)
    if mark is not None:
        expiry, _, seen = mark.decode().partition(":")
        client.hset(keys.suspects, task_id, f"{int(expiry) - by_ms}:{int(seen) - by_ms}")


@dataclass
class _Slow:
    """What a sweep has of the store, that had read what is due some time ago."""

    kit: StoreKit
    due: Due
    verdicts: list[SignalVerdict] = field(default_factory=list)

    def due_deadlines(self, until_ms: int, limit: int) -> Due:
        return self.due

    def signal(self, task_id: str, sent: Any) -> Any:
        answer = self.kit.store.signal(task_id, sent)
        self.verdicts.append(answer.verdict)
        return answer


@dataclass
class _Broker:
    """A broker that keeps the numbers of the messages."""

    messages: list[int]

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        self.messages.append(seq)
        return True


@dataclass
class World(Others):
    """Everything that can happen to the task, deadlines with it.

    Args:
        read: what a sweep has read as due, and has not come to yet.
    """

    read: Due = ()

    def is_over(self) -> bool:
        return self.kit.status(self.task_id) in TERMINAL

    def time_passes(self, by_s: int) -> None:
        """The clock goes on; what is due by that stays where it is until somebody looks. What is over is left alone."""
        if self.is_over():
            return
        by_ms = by_s * 1000
        pass_time(self.kit, self.task_id, by_ms)
        self.memory.asked = self.memory.asked.later(by_ms)
        if self.memory.suspected is not None:
            self.memory.suspected = (self.memory.suspected[0] - by_ms, True)

    def read_deadlines(self) -> Due:
        """A sweep reads what is due, which is each open prompt whose time is over, and nothing else."""
        now_ms = self.kit.store.now_ms()
        self.read = self.kit.store.due_deadlines(now_ms, 100)
        assert {prompt for _, prompt, _ in self.read} == self.memory.asked.due(now_ms), "not what is due"
        return self.read

    def sweep_deadlines(self, read: Due | None = None) -> None:
        """The sweep's own step about deadlines, with what is due now or was before: its others are own events."""
        due = self.read_deadlines() if read is None else read
        expected = [prompt for _, prompt, _ in due if self.memory.asked.waits_for(prompt)]
        before, held = self.kit.state(), self.kit.inbox(self.task_id)
        store = _Slow(self.kit, due)
        settings = self.kit.store.context.settings
        sweep = Sweep(store, _Broker(self.messages), self.kit.store.clock, settings)  # type: ignore[arg-type]
        sweep._deadlines(self.kit.store.now_ms())
        assert store.verdicts.count(SignalVerdict.ACCEPTED) == len(expected), "an answer that was not owed, or none"
        given = self.kit.inbox(self.task_id)[len(held) :]
        said = [(item(raw).prompt_id, item(raw).by, item(raw).text) for raw in given]
        assert said == [(prompt, "timeout", "no") for prompt in expected]
        self.memory.accepted |= {*given}
        for prompt in expected:
            self.memory.asked = self.memory.asked.by(prompt, "timeout")
        if not expected:
            assert self.kit.state() == before, "a sweep that came late changed something"

    def signal(self, kind: SignalKind, prompt_id: str | None = None, text: str = "") -> SignalVerdict:
        """A person sends something; the first answer to a prompt wins, and who is late is told what became of it."""
        asked, was, resumes = self.memory.asked, self.kit.status(self.task_id), self.would_go_on()
        verdict = super().signal(kind, prompt_id, text)
        if kind is SignalKind.ANSWER and prompt_id is not None:
            expected = SignalVerdict.ACCEPTED if asked.waits_for(prompt_id) else SignalVerdict.PROMPT_NOT_OPEN
            assert verdict is (SignalVerdict.ILLEGAL if was in TERMINAL else expected)
            if verdict is SignalVerdict.ACCEPTED:
                self.memory.asked = asked.by(prompt_id, "user")
            elif prompt_id in asked.answered:
                fate = fate_of(queries.events(self.kit.store.context, self.task_id), prompt_id)
                assert fate is not None
                assert fate.by == asked.answered[prompt_id], "told of another answer"
        elif kind is SignalKind.RETRY_REPLY and verdict is SignalVerdict.ACCEPTED:
            self.memory.asked = replace(asked, past_talk=len(look(self.kit, self.task_id).entries))
        elif kind is SignalKind.RESUME and verdict is SignalVerdict.ACCEPTED and was is Status.PAUSED:
            waits = self.kit.status(self.task_id) is Status.WAITING_FOR_USER
            assert waits is not resumes, "went on without an answer, or waits although there is one"
        return verdict

    def would_go_on(self) -> bool:
        """Whether a paused task has nothing to wait for: no prompt, or an answer that no turn has taken."""
        asked, inbox = self.memory.asked, self.kit.inbox(self.task_id)
        talks = any(prompt.endswith(TALKS) for prompt in asked.open)
        # words that had answered one conversation are words to the next one
        heard = ((talks and raw.startswith(b"i")) or item(raw).prompt_id in asked.open for raw in inbox)
        return not asked.open or any(heard)

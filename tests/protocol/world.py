"""The world around the workers: people, the watcher, the sweep, and a server that may lose its last writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from driver import Snapshot, Worker, Workers
from oracle import look

from neuraphage.model.limits import LimitChange
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import FinishTo, RecoverVerdict, SignalKind, SignalVerdict
from neuraphage.store import places


@dataclass
class World(Workers):
    """Everything that can happen to the task."""

    # --- the sweep and the watcher ---

    def leased(self) -> bool:
        return self.kit.place(self.task_id) == "leases"

    def recover(self, evidence: str) -> None:
        held = self.kit.held(self.task_id)
        before = self.kit.state()
        recovered = self.kit.store.recover(held, evidence)
        if recovered.verdict is RecoverVerdict.RECOVERED:
            self.messages.append(recovered.seq)
        if evidence != "expired":
            return
        if recovered.verdict is RecoverVerdict.STALE:
            assert self.kit.state() == before
        elif recovered.verdict is RecoverVerdict.SUSPECT:
            known = self.memory.suspected is not None and self.memory.suspected[0] == held.expires_ms
            self.memory.suspected = self.memory.suspected if known else (held.expires_ms, False)
        else:
            assert self.memory.suspected == (held.expires_ms, True), "recovered on the first visit"

    def age_mark(self) -> None:
        self.kit.age_mark(self.task_id)
        if self.memory.suspected is not None:
            self.memory.suspected = (self.memory.suspected[0], True)

    def fire(self) -> None:
        if self.kit.place(self.task_id) == "timers":
            self.kit.due("timers", self.task_id)
        source = "blocked" if self.kit.status(self.task_id) is Status.BLOCKED else "timers"
        turn = places.fire(self.kit.store.context, self.task_id, source)
        if turn is not None:
            self.messages.append(turn.seq)

    def republish(self) -> None:
        turn = places.republish(self.kit.store.context, self.task_id, ahead_ms=10**9)
        if turn is not None:
            self.messages.append(turn.seq)

    def lose_tail(self, steps: int) -> None:
        """The server comes back without its last writes; workers and broker remember more than it does."""
        self.restore(self.snapshots[-min(steps + 1, len(self.snapshots))])  # the last one is the present

    def restore(self, before: Snapshot) -> None:
        """Put the server back, and what is owed with it."""
        saved, memory = before
        self.kit.restore(saved)
        self.memory, self.snapshots = replace(memory), []
        self.calls = [replace(call, applied=False) for call in self.calls]

    def lose_commits(self, worker: Worker, count: int) -> None:
        """The server forgets commits of a worker that goes on writing."""
        before = self.present()
        for _ in range(count):
            if worker.lease is not None:
                self.commit(worker, take=False, opened=None)
        self.restore(before)
        if worker.lease is not None:
            self.commit(worker, take=True, opened=None)

    def lose_claim(self, seq: int) -> None:
        """The server forgets a grant, gives the task to another worker, and both write."""
        first, second = self.workers
        before = self.present()
        self.claim(first, seq)
        self.restore(before)
        self.claim(second, seq)
        for worker in (second, first):
            if worker.lease is not None:
                self.commit(worker, take=True, opened=None)

    # --- people ---

    def signal(self, kind: SignalKind, prompt_id: str | None = None, text: str = "") -> SignalVerdict:
        key, before = self.fresh("s"), self.kit.state()
        held = len(self.kit.inbox(self.task_id))
        further: dict[str, Any] = {
            SignalKind.LIMIT: {"limits": LimitChange(max_turns=60 + self.numbers)},
            SignalKind.MODEL: {"choice": ModelChoice(model=f"m-{self.numbers}")},
        }.get(kind, {})
        was = self.kit.status(self.task_id)
        sent = self.kit.send(self.task_id, kind, key, text=text or key, prompt_id=prompt_id, **further)
        if sent.verdict is not SignalVerdict.ACCEPTED:
            assert self.kit.state() == before, "a refused signal changed something"
            return sent.verdict
        if kind in (SignalKind.INPUT, SignalKind.ANSWER):
            assert len(self.kit.inbox(self.task_id)) == held + 1
            self.memory.accepted |= {self.kit.inbox(self.task_id)[-1]}
        elif kind in (SignalKind.LIMIT, SignalKind.MODEL) and self.memory.ended is not None:
            self.memory.ended = look(self.kit, self.task_id).keys
        goes_on = kind in (SignalKind.INPUT, SignalKind.RETRY_REPLY) and was is Status.COMPLETED
        if kind in (SignalKind.RETRY, SignalKind.RESET) or goes_on:
            self.memory.ended = None
        if kind is SignalKind.RESUME:
            assert self.kit.field(self.task_id, "pause") is None, "a pause outlived resume"
        if sent.place == "outbox":
            self.messages.append(sent.seq)
        between = self.kit.state()
        again = self.kit.send(self.task_id, kind, key, text=text or key, prompt_id=prompt_id, **further)
        assert again.verdict is SignalVerdict.REPEATED
        assert self.kit.state() == between, "a repeated signal changed something"
        return sent.verdict

    def open_prompts(self) -> list[str]:
        return sorted(name[2:] for name in look(self.kit, self.task_id).fields if name.startswith("p:"))

    # --- the end ---

    def drain(self) -> None:
        """Without further faults the task comes to its end: nothing is stuck."""
        for worker in self.workers:
            worker.lease = None
        for _ in range(12):
            status, place = self.kit.status(self.task_id), self.kit.place(self.task_id)
            if status in TERMINAL:
                return
            self._step(status, place)
            self.check()
        raise AssertionError(f"stuck: {look(self.kit, self.task_id)}")

    def _step(self, status: Status, place: str) -> None:
        worker = self.workers[0]
        if place == "leases":
            self.recover("gone")
        elif place == "outbox":
            self.claim(worker, self.kit.number(self.task_id, "seq"))
            if worker.lease is not None:
                self.commit(worker, take=True, opened=None)
                self.finish(worker, FinishTo.COMPLETED, take=False)
        elif status is Status.PAUSED:
            assert self.signal(SignalKind.RESUME) is SignalVerdict.ACCEPTED
        elif status is Status.WAITING_FOR_USER:
            assert self.signal(SignalKind.ANSWER, self.open_prompts()[0]) is SignalVerdict.ACCEPTED
        else:
            self.fire()

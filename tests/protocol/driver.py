"""The worker side as a small driver: it remembers what a worker remembers, and sends what a worker sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deadline_oracle import remembered
from oracle import Memory, check, look, tag

from neuraphage.model.effect import Marker, MarkerName, model_effect
from neuraphage.model.prompt import Prompt
from neuraphage.ports import (
    Changes,
    Claimed,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    GoneOn,
    Lease,
    SuspendTo,
)
from storekit import MODEL_CALL, StoreKit, item, question, text_entry

Snapshot = tuple[dict[bytes, tuple[bytes, int]], Memory]
SNAPSHOTS = 5
"""How many states are kept to go back to."""
DONE = Marker(name=MarkerName.TOOL_COMPLETED, tool="edit", tool_use_id="t1")
"""What a turn that ended has left: the next one goes straight on."""
PROMPTS = ("ask-1", "ask-2", "talk:conversation")
"""What a commit may open without a deadline. A turn that ends by waiting opens one of its own, as real ones do."""
TIMED = ("timed", "timed:conversation")
"""What a commit may open with a deadline: each of an id of its own, as real ones have."""
TIMEOUT_S = 300
"""How long a timed prompt waits."""
ALWAYS = "always"
"""An answer that is remembered."""


@dataclass
class Worker:
    """What one worker process believes."""

    name: str
    lease: Lease | None = None
    iteration: int = 0
    inbox: tuple[bytes, ...] = ()
    prompts: frozenset[str] = frozenset()
    announced: bool = False
    """Whether its claim has announced a call of the model, which it never sends here."""


@dataclass(frozen=True)
class Call:
    """A call that was made, to be made again. `applied` is False once the server may have lost it."""

    run: Callable[[], Any]
    reply: Any
    applied: bool
    worker: Worker | None = None


@dataclass
class Workers:
    """One task and two workers, over a broker that loses and doubles messages."""

    kit: StoreKit
    task_id: str = ""
    messages: list[int] = field(default_factory=lambda: [1])
    workers: tuple[Worker, ...] = field(default_factory=lambda: (Worker("w0"), Worker("w1")))
    memory: Memory = field(default_factory=Memory)
    calls: list[Call] = field(default_factory=list)
    granted: set[tuple[int, str]] = field(default_factory=set)
    snapshots: list[Snapshot] = field(default_factory=list)
    numbers: int = 0

    def __post_init__(self) -> None:
        self.task_id = self.kit.create()

    def fresh(self, prefix: str) -> str:
        self.numbers += 1
        return f"{prefix}-{self.numbers}"

    def asked(self, form: str | None) -> Prompt | None:
        """A prompt of this form, as a commit opens it."""
        if form is None or form not in TIMED:
            return None if form is None else question(form)
        deadline_ms = self.kit.store.now_ms() + TIMEOUT_S * 1000
        kind, _, rest = form.partition(":")
        self.numbers += 1
        # of one length, as real ids are: what is asked by a beginning is then about one prompt
        prompt = question(f"{kind}-{self.numbers:06}{':' if rest else ''}{rest}", deadline_ms)
        return prompt.model_copy(update={"default_answer": "no"})

    def present(self) -> Snapshot:
        """The server as it is, and what is owed."""
        return self.kit.snapshot(), replace(self.memory)

    def check(self) -> None:
        """After every step."""
        check(self.kit, self.task_id, self.memory)
        self.snapshots = [*self.snapshots, self.present()][-SNAPSHOTS:]

    # --- workers ---

    def claim(self, worker: Worker, seq: int) -> Claimed:
        claim_id, before = self.fresh("c"), self.kit.state()

        def run() -> Claimed:
            return self.kit.store.claim(self.task_id, seq, worker.name, claim_id, f"req-{claim_id}")

        claimed = run()
        if claimed.verdict is ClaimVerdict.GRANTED:
            self.start(worker, claimed)
            self.calls.append(Call(run, claimed.lease, applied=True, worker=worker))
        else:
            assert self.kit.state() == before
        return claimed

    def start(self, worker: Worker, claimed: Claimed) -> None:
        assert claimed.lease is not None
        assert claimed.record is not None
        worker.lease = claimed.lease
        worker.iteration = claimed.record.counters.iteration
        worker.inbox = tuple(raw for raw, _ in claimed.inbox)
        worker.prompts = frozenset(prompt.prompt_id for prompt in claimed.record.prompts)
        grants = remembered(look(self.kit, self.task_id).entries, self.memory.grants)
        assert claimed.record.grants == grants, "what a person said for the task is not what a claim reads"
        announced = model_effect(claimed.journal)
        worker.announced = announced is not None and announced.fence == claimed.lease.fence
        assert not (worker.announced and (worker.inbox or worker.iteration == 0)), (
            "announced before it took in what came"
        )
        self.granted.add((claimed.lease.fence, claimed.lease.claim_id))

    def changes(self, worker: Worker, *, take: bool, opened: str | None, ends: bool) -> Changes:
        """One entry that says what wrote it, what it took from the inbox, and whether it ends a turn."""
        assert worker.lease is not None
        took = worker.inbox if take else ()
        closed = tuple(self.answered(worker)) if take else ()
        prompt = self.asked(opened)
        opens = () if prompt is None or prompt.prompt_id in closed else (prompt,)
        grants = {said.prompt_id: "granted" for said in map(item, took) if said.text == ALWAYS and said.prompt_id}
        entry = tag(
            claim=worker.lease.claim_id,
            token=worker.lease.token + 1,
            turn=worker.iteration,
            ends=ends,
            took=[raw.decode() for raw in took],
            opened={prompt.prompt_id: prompt.deadline_ms for prompt in opens},
            closed=closed,
            grants=grants,
        )
        return Changes(
            entries=(text_entry(entry),),
            add=MODEL_CALL,
            consumed=took,
            prompts_opened=opens,
            prompts_closed=closed,
            grants=grants,
            outcome=ends,
            marker=DONE if ends else None,
        )

    def answered(self, worker: Worker) -> set[str]:
        """Open prompts, as far as the worker knows, that its inbox answers."""
        heads = [raw.partition(b"\n")[0].decode() for raw in worker.inbox]
        talk = {p for p in worker.prompts if p.endswith(":conversation")} if "i" in heads else set()
        return {*(worker.prompts & {head[1:] for head in heads}), *talk}

    def write(self, worker: Worker, run: Callable[[], Any], changes: Changes) -> Any:
        """Make a fenced write, and take over its answer as a worker does."""
        before = self.kit.state()
        reply = run()
        if reply.verdict in (CommitVerdict.STALE, CommitVerdict.LOST):
            assert self.kit.state() == before, f"{reply.verdict} changed something"
            # LOST means that the server has lost the write before it. Once that one is repeated, so may this one be:
            # both are of one claim and come in their order.
            self.calls.append(Call(run, reply, applied=reply.verdict is CommitVerdict.STALE, worker=worker))
            worker.lease = None
            return reply
        self.calls.append(Call(run, reply, applied=True, worker=worker))
        assert worker.lease is not None
        worker.lease = replace(worker.lease, token=worker.lease.token + 1)
        opened = {prompt.prompt_id for prompt in changes.prompts_opened}
        worker.prompts = worker.prompts - {*changes.prompts_closed} | opened
        worker.inbox = tuple(raw for raw in worker.inbox if raw not in changes.consumed)
        return reply

    def commit(self, worker: Worker, *, take: bool, opened: str | None) -> None:
        lease = worker.lease
        assert lease is not None
        changes = self.changes(worker, take=take, opened=opened, ends=False)
        self.write(worker, lambda: self.kit.store.commit(lease, changes), changes)

    def suspend(self, worker: Worker, to: SuspendTo, *, take: bool) -> None:
        lease = worker.lease
        assert lease is not None
        # one of its own, as real ones are: one that is answered already would be closed by the same write
        own = TIMED[0] if self.numbers % 2 else self.fresh("ask")
        opened = own if to is SuspendTo.WAIT and not (worker.prompts - self.answered(worker)) else None
        changes = self.changes(worker, take=take, opened=opened, ends=False)
        due_ms, unsent = self.kit.store.now_ms() + 60_000, worker.announced
        detail = {"error": "broken", "recoverable": True, "resource": "file:a"}

        def run() -> Any:
            return self.kit.store.suspend(lease, changes, to, due_ms=due_ms, detail=detail, unsent=unsent)

        reply = self.write(worker, run, changes)
        taken_back = reply.verdict is CommitVerdict.COMMITTED and unsent
        assert not (taken_back and self.kit.client.exists(self.kit.keys.turn(self.task_id))), "announced and not sent"
        self.settled(worker, reply)

    def finish(self, worker: Worker, to: FinishTo, *, take: bool) -> None:
        lease, iteration = worker.lease, worker.iteration
        assert lease is not None
        opened = f"turn-{iteration}:conversation" if to is FinishTo.WAIT else None
        changes = self.changes(worker, take=take, opened=opened, ends=to not in (FinishTo.FAILED, FinishTo.LIMITED))
        detail = {"error": "no", "recoverable": True}

        def run() -> Any:
            return self.kit.store.finish(lease, changes, to, iteration, detail)

        self.settled(worker, self.write(worker, run, changes))

    def go_on(self, worker: Worker, to: FinishTo, *, take: bool) -> None:
        """End the turn, and take the next one with the same write."""
        lease, iteration, claim_id = worker.lease, worker.iteration, self.fresh("c")
        assert lease is not None
        changes = self.changes(worker, take=take, opened=None, ends=to is not FinishTo.LIMITED)
        detail = {"error": "no", "recoverable": True}

        def run() -> GoneOn:
            store = self.kit.store
            ids = {"process_id": worker.name, "claim_id": claim_id, "request_id": f"req-{claim_id}"}
            return store.go_on(lease, changes, to, iteration, detail, **ids)

        reply: GoneOn = self.write(worker, run, changes)
        worker.lease = None
        if isinstance(reply.claimed, Claimed):
            assert reply.claimed.verdict is ClaimVerdict.GRANTED
            self.start(worker, reply.claimed)
        elif reply.settled.place == "outbox":
            self.messages.append(reply.settled.seq)

    def settled(self, worker: Worker, reply: Any) -> None:
        worker.lease = None
        if reply.place == "outbox":
            self.messages.append(reply.seq)

    def repeat(self, call: Call) -> None:
        """The same call with the same arguments: whatever it answers, it changes nothing the first one did not."""
        before = self.kit.state()
        reply = call.run()
        if call.applied:
            assert self.kit.state() == before, "a repeated call changed something"
        claimed = reply.claimed if isinstance(reply, GoneOn) else reply
        if isinstance(claimed, Claimed):
            if claimed.verdict is ClaimVerdict.GRANTED and not call.applied and call.worker is not None:
                # After a lost tail the first grant may be given once more; its token chain begins again, so that
                # a call refused before may be written now.
                self.start(call.worker, claimed)
                self.calls = [replace(known, applied=False) for known in self.calls]
        elif reply.verdict is CommitVerdict.COMMITTED and hasattr(reply, "place") and call.applied:
            assert reply == call.reply, "a repeated call got another answer"

    def renew(self, worker: Worker) -> None:
        assert worker.lease is not None
        before = self.kit.state()
        held = self.kit.store.renew([worker.lease])[1][0].held
        if not held:
            assert self.kit.state() == before
            worker.lease = None

    def probe(self) -> None:
        """Of all leases ever granted, at most one can write, even with the right token; the others change nothing."""
        saved, before = self.kit.snapshot(), self.kit.state()
        token, able = self.kit.number(self.task_id, "token"), 0
        for fence, claim_id in sorted(self.granted):
            reply = self.kit.store.commit(Lease(self.task_id, fence, claim_id, token), Changes(add=MODEL_CALL))
            if reply.verdict is CommitVerdict.COMMITTED:
                able += 1
                self.kit.restore(saved)
            else:
                assert self.kit.state() == before
        assert able <= 1, "two holders"

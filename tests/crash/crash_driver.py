"""Drives one case to its end: takes messages, plays the person, waits for what is due, sweeps.

Between two recorded calls it waits for conditions without recording anything, so a run's calls are always the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

import orjson
from crash_effects import PLAN, UNANSWERED_FILE
from crash_world import LABEL, World

from neuraphage.decide.prompt_notice import OPENED
from neuraphage.errors import TaskNotFound
from neuraphage.model.effect import MODEL_ENTRY
from neuraphage.model.limits import LimitChange
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import NoticeMark
from neuraphage.runtime.host import ProcessIdentity, process_gone
from neuraphage.runtime.outcome import REFUSALS, Outcome
from neuraphage.store import live, queries
from neuraphage.store.ledger import pools
from patience import PATIENCE_S

WAIT_LIMIT_S = PATIENCE_S
STEP_LIMIT = 200
POOLED_FROM = 2
"""The turn from which on the task is under a pool."""
POOL_MICROUSD = 50_000_000


class Finder(StrEnum):
    """Who finds an orphan."""

    SWEEP = "sweep"
    """Its lease runs out: two visits."""
    WATCHER = "watcher"
    """Its process is gone."""


class Span(StrEnum):
    """Which of its calls a process records."""

    ALL = "all"
    TO_FIRST_TURN = "all until its first turn is over"
    FIRST_TURN = "those of its first turn"


class Driver:
    """One process's share of a case.

    Args:
        world: its parts.
        finder: who finds orphans.
        span: which calls it records.
    """

    def __init__(self, world: World, finder: Finder, span: Span = Span.ALL) -> None:
        self._world = world
        self._finder = finder
        self._span = span
        self._lost = False
        self._task_id = world.site.task_id

    def run(self) -> None:
        """Go on until the task is over, or its lease was lost to another process; then leave."""
        if self._span is Span.FIRST_TURN:
            self._world.recorder.pause()
        self.submit()
        for _ in range(STEP_LIMIT):
            record = self._world.store.get(self._task_id)
            if not self._lost and self._goes_on(record):
                continue
            if record.status in TERMINAL or self._lost:
                self._leave()
                return
            self._step(record)
        raise AssertionError(f"the task is not over after {STEP_LIMIT} steps: {record}")

    def submit(self) -> None:
        """Submit the task, and one that waits for it, unless they are there."""
        try:
            self._world.store.get(self._task_id)
        except TaskNotFound:
            live.watch(self._world.store.context, self._task_id)  # its replies are shown to somebody
            self._world.people.submit(self._world.site.spec(), "submit")
        try:
            self._world.store.get(self._world.site.follower_id)
        except TaskNotFound:
            self._world.people.submit(self._world.site.follower_spec(), "follow")

    def _goes_on(self, record: TaskRecord) -> bool:
        """Raise the limit at which the task has failed, and when it has completed send a message, then ask again."""
        if record.status is Status.FAILED and record.counters.iteration == len(PLAN):
            self._world.people.limit(self._task_id, LimitChange(max_turns=len(PLAN) + 1), key="limit")
            self._world.people.retry(self._task_id, key="retry")
            return True
        if record.status is Status.COMPLETED and record.counters.iteration == len(PLAN) + 1:
            self._world.people.send(self._task_id, "One thing more.", key="more")
            return True
        if record.status is Status.COMPLETED and record.counters.iteration == len(PLAN) + 2:
            entries = queries.conversation(self._world.store.context, self._task_id)
            self._world.people.retry_reply(record, entries, key="again")
            return True
        return False

    def _step(self, record: TaskRecord) -> None:
        message = self._world.queue.pop()
        if message is not None:
            self._run_turn(*message)
            return
        match record.place:
            case "outbox":
                context = self._world.store.context
                context.client.zadd(context.keys.outbox, {self._task_id: 1}, xx=True)  # its message is lost
                self._sweep()
            case "waits":
                self._answer(record)
            case "timers":
                self._make_start_due() if record.starts_at_ms else self._make_timer_due()
                self._world.watcher.look()
            case "leases":
                self._recover(record)
            case _:
                raise AssertionError(f"in no place: {record}")

    def _run_turn(self, task_id: str, seq: int) -> None:
        record = self._world.store.get(task_id)
        if record.counters.iteration >= POOLED_FROM:
            self._set_pool()
        if self._span is Span.FIRST_TURN and (record.place, record.seq) == ("outbox", seq):
            self._world.recorder.resume()
        outcome = self._world.process.run_turn(task_id, seq)
        self._lost = outcome == Outcome.LOST.value
        if self._span is not Span.ALL and outcome not in REFUSALS:
            self._world.recorder.pause()
            self._span = Span.ALL

    def _set_pool(self) -> None:
        """From now on calls reserve with a commit; until now claims announced them."""
        if not any(pool.is_set for pool in pools(self._world.store.context)):
            self._world.tasks.set_pool(LABEL, POOL_MICROUSD)

    def _watch_over_sweep(self) -> None:
        """The watcher looks at the spool, and sweeps, since no sweep has run for three intervals."""
        self._world.watcher.see_to_spool()
        overdue_ms = int(self._world.settings.sweep_s * 3000) + 1
        self._wait_for(lambda: self._world.store.now_ms() - self._world.store.last_sweep_ms() > overdue_ms)
        self._world.watcher._see_to_sweep()

    def _see_to_notices(self, record: TaskRecord) -> None:
        """What nobody was told of is told; where the teller has died, once its mark is over."""
        wanted = [(prompt.prompt_id, OPENED) for prompt in record.prompts]
        marks = self._world.store.notice_marks
        self._wait_for(lambda: NoticeMark.TELLING not in marks(self._task_id, wanted))
        self._world.notices.look()

    def _answer(self, record: TaskRecord) -> None:
        self._see_to_notices(record)
        for prompt in record.prompts:
            if UNANSWERED_FILE in (prompt.params_summary or ""):
                # nobody answers: its time passes
                context = self._world.store.context
                context.client.zadd(context.keys.deadlines, {f"{self._task_id}|{prompt.prompt_id}": 1}, xx=True)
                self._watch_over_sweep()
                continue
            text = "yes" if prompt.kind is PromptKind.PERMISSION else "green"
            self._world.people.answer(self._task_id, prompt.prompt_id, text, key=f"answer-{prompt.prompt_id}")

    def _recover(self, record: TaskRecord) -> None:
        if self._finder is Finder.WATCHER:
            self._wait_for(lambda: record.owner not in self._world.store.connected())
            self._world.watcher.look()
            return
        context = self._world.store.context
        mark = context.client.hget(context.keys.suspects, self._task_id)
        grace_ms = int(self._world.settings.heartbeat_s * 2000)
        if mark is None:
            self._wait_for(lambda: self._is_due("leases", grace_ms - context.lease_ms))
        else:
            second_ms = int(mark.partition(b":")[2]) + grace_ms
            self._wait_for(lambda: self._is_due("leases") and self._world.store.now_ms() >= second_ms)
        self._sweep()

    def _sweep(self) -> None:
        context = self._world.store.context
        self._wait_for(lambda: not context.client.exists(context.keys.sweep_guard))
        self._world.sweep.run()

    def _make_start_due(self) -> None:
        """The time has come at which the task begins."""
        context = self._world.store.context
        context.client.hset(context.keys.task(self._task_id), "starts_at", 1)
        context.client.zadd(context.keys.timers, {self._task_id: 1}, xx=True)

    def _make_timer_due(self) -> None:
        """The wait before the next call of the model passes. It is long, so that no slow turn ever finds it over."""
        context = self._world.store.context
        for gate, raw in context.client.hgetall(context.keys.cooling).items():
            context.client.hset(context.keys.cooling, gate, orjson.dumps({**orjson.loads(raw), "till": 1}))
        turn = context.keys.turn(self._task_id)
        entry = orjson.loads(context.client.hget(turn, MODEL_ENTRY))
        context.client.hset(turn, MODEL_ENTRY, orjson.dumps({**entry, "retry_at_ms": 1}))
        context.client.zadd(context.keys.timers, {self._task_id: 1}, xx=True)

    def _is_due(self, place: str, after_ms: int = 0) -> bool:
        context = self._world.store.context
        score = context.client.zscore(getattr(context.keys, place), self._task_id)
        return score is None or self._world.store.now_ms() >= score + after_ms

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + WAIT_LIMIT_S
        while not condition():
            if time.monotonic() > deadline_s:
                raise AssertionError(f"nothing became due in {WAIT_LIMIT_S} s")
            time.sleep(0.01)

    def _leave(self) -> None:
        """Forget processes that died, then leave as a worker does."""
        store = self._world.store
        rows = [row for row in store.registered() if row.process_id != self._world.process_id]
        dead = {row.process_id for row in rows if process_gone(ProcessIdentity(row.pid, row.start_time))}
        if dead:
            self._wait_for(lambda: not dead & store.connected())
            self._world.watcher.look()
        self._world.process.leave()

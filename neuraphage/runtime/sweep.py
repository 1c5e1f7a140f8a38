"""The sweep: visits every place a task can sit in and moves on what is due.

Idempotent and level-triggered: two sweeps at once are harmless, and what one leaves the next one finds.
Every step reads what is due and then moves each task by its own script, which checks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from neuraphage.errors import BadInput, StoreError, StoreUnavailable
from neuraphage.model.place import Place
from neuraphage.model.recovery import Evidence, RecoveryReport
from neuraphage.ports import (
    Clock,
    Dispatcher,
    HeldTask,
    NextTurn,
    Recovered,
    RecoverVerdict,
    Signal,
    SignalKind,
    SignalVerdict,
    SweepStore,
)
from neuraphage.runtime.sweep_report import build_report
from neuraphage.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH = 1_000
"""Most entries of one place handled by one sweep; the next one takes the rest."""
ADJUSTED_MAX = 100
"""Times that one sweep looks who may begin; many do where limits were raised."""
STUCK_MAX = 100_000
"""Most entries that nothing can move which a sweep reads past, in one place."""
TOLD_MAX = 10_000
"""Findings of the audit that are remembered as told; past it they are told again."""
QUIET_AHEAD = 0.8
"""With an empty broker queue, entries are published this part of `first_republish_s` early: a second after they were
made, by default. Never at once: a fresh entry's own message is on its way."""


class Sweep:
    """One namespace's sweep.

    Args:
        store: places and leases.
        dispatcher: publishes.
        clock: durations.
        settings: times.
        living: process ids that are known to live, see Owners; without it nobody is.
    """

    def __init__(
        self,
        store: SweepStore,
        dispatcher: Dispatcher,
        clock: Clock,
        settings: Settings,
        living: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._living = living
        self._store = store
        self._dispatcher = dispatcher
        self._clock = clock
        self._settings = settings
        self._full = False
        self._named: set[str] = set()  # tasks whose broken record the log names already
        self._told: set[tuple[str, str]] = set()
        """What the audit found and the log names already."""
        self._stuck: dict[str, int] = {}
        """By place: entries of the last batch that nothing has moved. They are always due first, and could fill it."""

    def run(self, *, guarded: bool = True) -> RecoveryReport | None:
        """Sweep once.

        Args:
            guarded: skip when another sweep began within half an interval (economy only).

        Returns:
            The report, or None when skipped.

        Raises:
            StoreUnavailable, StoreError: the server went away; the next sweep goes on.
        """
        if guarded and not self._store.begin_sweep(max(1, int(self._settings.sweep_s * 500))):
            return None
        started_s = self._clock.boottime_s()
        now_ms = self._store.now_ms()
        verdicts = self.expired(now_ms)
        fired = self.timers(now_ms) + self._blocked(now_ms)
        self._schedules(now_ms)
        self._adjust()
        self._deadlines(now_ms)
        republished = self.outbox(now_ms)
        self._retention(now_ms)
        report = build_report(
            now_ms, int((self._clock.boottime_s() - started_s) * 1000), verdicts, republished=republished, fired=fired
        )
        self._store.save_report(report)
        self._see_to_memory()
        self._audit()
        return report

    def _see_to_memory(self) -> None:
        """Say it once when the server has become so full that it takes no new tasks, and once when that is over."""
        percent = self._store.memory_percent()
        full = percent is not None and percent >= self._settings.admission_memory_percent
        if full and not self._full:
            log.error("the memory of the state server is %.0f %% full: it takes no new tasks (RUNBOOK.md)", percent)
        elif self._full and not full:
            log.warning("the state server takes new tasks again")
        self._full = full

    def _audit(self) -> None:
        """Say once of each task or key that it contradicts its record."""
        for name, text in self._store.audit():
            if (name, text) not in self._told:
                if len(self._told) >= TOLD_MAX:
                    self._told.clear()
                self._told.add((name, text))
                log.error("%s: %s; `neuraphage repair` puts it right", name, text, extra={"task": name})

    def expired(self, now_ms: int) -> list[Recovered]:
        """Leases that missed two heartbeats: suspect at the first visit, recovered at one after their expiry.

        That of a process which lives is `stalled`: nobody died, so it is not counted as a crash.
        """
        settings = self._settings
        late_ms = now_ms + int((settings.lease_s - 2 * settings.heartbeat_s) * 1000)
        late = self._store.held_tasks(until_ms=late_ms, limit=self._batch(Place.LEASES))
        living = self._living() if late else frozenset()
        answers = [self.recover(held, Evidence.STALLED if held.owner in living else Evidence.EXPIRED) for held in late]
        self._note_stuck(Place.LEASES, sum(answer.verdict is RecoverVerdict.STALE for answer in answers))
        return answers

    def recover(self, held: HeldTask, evidence: Evidence) -> Recovered:
        """Take one lease away and publish the task's next message."""
        answer = self._apart(held.task_id, partial(self._store.recover, held, evidence))
        if answer is None:
            return Recovered(RecoverVerdict.STALE)
        if answer.verdict is RecoverVerdict.RECOVERED:
            marker = answer.decision.marker if answer.decision is not None else ""
            self._publish(NextTurn(held.task_id, answer.seq, answer.iteration), f"{marker}, recovered")
        for turn in answer.woken:
            self._publish(turn, "the end of what it waited for")
        if answer.decision is not None and answer.verdict is not RecoverVerdict.SUSPECT:
            log.warning(
                "%s: %s",
                answer.decision.verdict,
                answer.decision.reason,
                extra={"task": held.task_id, "fence": held.fence},
            )
        return answer

    def timers(self, now_ms: int) -> int:
        """Timers that came due."""
        return self._fire(self._store.due_timers(now_ms, self._batch(Place.TIMERS)), Place.TIMERS, "a timer")

    def outbox(self, now_ms: int) -> int:
        """Outbox entries that nobody has claimed in time; at once when the broker's queue is empty."""
        due = self._store.due_outbox(now_ms, self._batch(Place.OUTBOX))
        ahead_ms = 0
        if self._dispatcher.queue_length() == 0:
            ahead_ms = int(self._settings.first_republish_s * 1000 * QUIET_AHEAD)
            due = self._store.due_outbox(now_ms + ahead_ms, self._batch(Place.OUTBOX))
        return self._each(
            Place.OUTBOX, due, lambda task_id: self._store.republish(task_id, ahead_ms), "no claim in time"
        )

    def _adjust(self) -> None:
        """Have the limits of tasks at work hold; who begins by that is published."""
        for _ in range(ADJUSTED_MAX):
            for turn in (begun := self._store.adjust()):
                self._publish(turn, "a slot was free")
            if not begun:
                return

    def _schedules(self, now_ms: int) -> None:
        """Schedules whose time has come: each has its task made, or its last one is still at work."""
        for due in self._store.due_schedules(now_ms):
            turn = self._apart(due.name, partial(self._store.occur, due))
            if turn is not None:
                self._publish(turn, "a schedule")

    def _blocked(self, now_ms: int) -> int:
        since_ms = now_ms - int(self._settings.wait_poll_s * 1000)
        return self._fire(self._store.blocked_since(since_ms, self._batch("blocked")), "blocked", "a time blocked")

    def _fire(self, task_ids: list[str], source: str, after: str) -> int:
        return self._each(source, task_ids, lambda task_id: self._store.fire(task_id, source), after)

    def _batch(self, place: str) -> int:
        """How many entries of a place to read now."""
        return BATCH + self._stuck.get(place, 0)

    def _note_stuck(self, place: str, count: int) -> None:
        self._stuck[place] = min(count, STUCK_MAX)

    def _each(self, place: str, task_ids: list[str], move: Callable[[str], NextTurn | None], after: str) -> int:
        """Move each task and publish its next message; returns how many were moved."""
        count = 0
        for task_id in task_ids:
            turn = self._apart(task_id, partial(move, task_id))
            if turn is not None:
                count += 1
                self._publish(turn, after)
        self._note_stuck(place, len(task_ids) - count)
        return count

    def _apart(self, task_id: str, move: Callable[[], T]) -> T | None:
        """Make one task's move; a record that refuses it holds no other task up, and is named once."""
        try:
            return move()
        except StoreUnavailable:
            raise
        except (StoreError, BadInput, ValueError):
            if task_id not in self._named:
                self._named.add(task_id)
                log.exception("left alone, its record is broken", extra={"task": task_id})
            return None

    def _publish(self, turn: NextTurn, after: str) -> None:
        self._dispatcher.publish_turn(turn.task_id, turn.iteration, turn.seq, after)

    def _deadlines(self, now_ms: int) -> None:
        stuck = 0
        for task_id, prompt, default in self._store.due_deadlines(now_ms, self._batch("deadlines")):
            sent = Signal(SignalKind.ANSWER, f"deadline:{prompt}", text=default, prompt_id=prompt, by="timeout")
            answer = self._apart(task_id, partial(self._store.signal, task_id, sent))
            if answer is not None and answer.place == Place.OUTBOX:
                self._publish(NextTurn(task_id, answer.seq, answer.iteration), "answer timed out")
            stuck += answer is None or answer.verdict is not SignalVerdict.ACCEPTED
        self._note_stuck("deadlines", stuck)

    def _retention(self, now_ms: int) -> None:
        due = self._store.due_retention(now_ms, self._batch("retention"))
        self._note_stuck(
            "retention", sum(not self._apart(task_id, partial(self._store.delete, task_id)) for task_id in due)
        )
        self._store.expire_tombstones(now_ms)


def sweep_quietly(sweep: Sweep) -> None:
    """Run a sweep from a loop that must go on: a server that is away is only worth a log line."""
    try:
        sweep.run()
    except StoreError as error:
        log.warning("sweep failed: %s", error)


SKIPPED = "skipped: another one runs"
NOTHING_DUE = "nothing due"
IDLE = (SKIPPED, NOTHING_DUE)
"""What stands in the result of a sweep that has done nothing."""


def summary(report: RecoveryReport) -> str:
    """Count what a sweep has done, in a few words: the result that Flower and the log show."""
    counts = {
        "recovered": len(report.resumable) + len(report.requeued),
        "failed": len(report.failed),
        "paused": len(report.paused),
        "suspect": len(report.suspect),
        "sent again": report.republished,
        Place.TIMERS: report.fired,
    }
    words = [f"{count} {what}" for what, count in counts.items() if count]
    return f"{', '.join(words) or NOTHING_DUE}; {report.duration_ms} ms"

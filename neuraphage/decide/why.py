"""Why a task stands where it stands, and what happens next: plain sentences from facts. It decides nothing.

The rules themselves are in the scripts of the store (`recover`, `republish`, `fire`) and in the watcher; a test holds
the forecasts here against what those do.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.decide.asking import asks_line, short_prompt_id
from neuraphage.decide.duration import duration
from neuraphage.decide.going_on import going_on
from neuraphage.decide.pool_text import why_paused
from neuraphage.decide.why_blocked import why_blocked
from neuraphage.decide.why_in_line import why_in_line
from neuraphage.decide.why_later import later_start, why_waits_for_time
from neuraphage.model.dependency import SKIPPED
from neuraphage.model.effect import MarkerName
from neuraphage.model.explanation import Clocks, Explanation, Forecast, Holder, TaskFacts
from neuraphage.model.place import Place
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import CancelledDetail, FailedDetail, PausedDetail, Status, TaskRecord

SWEEP_OVERDUE_INTERVALS = 3
"""Then the watcher sweeps itself."""
HOST_CHARS = 8
"""Of a host's identity; enough to tell hosts apart."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decide. All times in milliseconds.

    Args:
        lease_ms, heartbeat_ms, sweep_ms, absent_host_ms, saved_max_age_ms, wait_poll_ms: see settings.
        first_republish_ms, max_republish_ms: distances of two publications.
        max_recoveries: see settings.
        recovery_policy: auto, confirm or off.
    """

    lease_ms: int
    heartbeat_ms: int
    sweep_ms: int
    absent_host_ms: int
    saved_max_age_ms: int
    wait_poll_ms: int
    first_republish_ms: int
    max_republish_ms: int
    max_recoveries: int
    recovery_policy: str

    @property
    def missed_ms(self) -> int:
        """So long without a renewal makes a lease late, and so far apart are the two visits."""
        return 2 * self.heartbeat_ms

    def distance_ms(self, publications: int) -> int:
        """How far the next publication lies after this many."""
        doubled: int = self.first_republish_ms * 2 ** min(publications, 20)
        return min(doubled, self.max_republish_ms)


def explain(facts: TaskFacts, rules: Rules, *, is_priced: bool = True) -> Explanation:
    """Explain one task.

    Args:
        facts: what was read.
        rules: the settings.
        is_priced: whether a price of its model is known.
    """
    record = facts.record
    match record.status, record.place:
        case ((Status.COMPLETED | Status.CANCELLED | Status.FAILED), _):
            because, following = _ended(facts)
        case Status.PAUSED, _:
            because, following = _paused(facts)
        case Status.WAITING_FOR_USER, _:
            because, following = _waits_for_person(facts)
        case (Status.BLOCKED, _) | (Status.QUEUED, Place.WAITS):
            is_in_line = record.status is Status.QUEUED
            because, following = why_in_line(facts) if is_in_line else why_blocked(facts, rules.wait_poll_ms)
        case _, Place.OUTBOX:
            because, following = _waits_for_worker(facts, rules)
        case _, Place.TIMERS:
            because, following = why_waits_for_time(facts)
        case _, Place.LEASES:
            because, following = _held(facts, rules)
        case _:
            because = ["It is in none of the four places, which a task that is not over never is."]
            following = [Forecast(text=f"Report this with the output of `neuraphage show {record.short_id} --json`.")]
    if not is_priced and record.place is not None:
        because.append(
            f"No price is known here for its model {record.choice.model}: workers without one do not ask it."
        )
    because += later_start(record)
    if record.cancel_requested:
        because.append("A person has cancelled it; whoever holds it ends it with the next step.")
    elif record.pause_requested:
        because.append("A person has asked for a pause; it is paused with the next step.")
    if record.place in {Place.OUTBOX, Place.LEASES, Place.TIMERS} or any(
        found.in_ms is not None for found in following
    ):
        because += _sweep_trouble(facts, rules)
    return Explanation(
        task_id=record.task_id,
        status=record.status,
        place=record.place,
        because=tuple(because),
        next=tuple(following),
        clocks=clocks(facts, rules),
        decisions=facts.decisions,
    )


def clocks(facts: TaskFacts, rules: Rules) -> Clocks:
    """The facts as ages."""
    record, now_ms, due_ms = facts.record, facts.now_ms, facts.due_ms
    held = record.place == Place.LEASES and due_ms is not None
    sent_ms = None
    if record.place == Place.OUTBOX and due_ms is not None:
        sent_ms = now_ms - (due_ms - rules.distance_ms(facts.publications))
    return Clocks(
        dispatch_ms=sent_ms,
        claim_ms=(due_ms or 0) - now_ms if held else None,
        progress_ms=now_ms - ((due_ms or 0) - rules.lease_ms) if held else None,
        checkpoint_ms=now_ms - record.saved_at_ms if record.saved_at_ms else None,
        sweep_ms=now_ms - facts.last_sweep_ms if facts.last_sweep_ms else None,
    )


_Said = tuple[list[str], list[Forecast]]


def _ended(facts: TaskFacts) -> _Said:
    record = facts.record
    match record.detail:
        case FailedDetail(error=error):
            because = f"It failed: {error}"
        case CancelledDetail(reason=str(reason)) if reason.startswith(SKIPPED):
            because = f"It was {reason}."
        case CancelledDetail(reason=reason):
            because = "A person cancelled it" + (f": {reason}" if reason else ".")
        case _:
            because = "It is completed."
    following = f"Nothing by itself; {going_on(record, has_conversation=facts.has_conversation)}."
    return [because], [Forecast(text=following)]


def _paused(facts: TaskFacts) -> _Said:
    record, detail = facts.record, facts.record.detail
    because = why_paused(detail, facts.now_ms) if isinstance(detail, PausedDetail) else "It is paused."
    resume = f"Nothing by itself, it is kept for ever; {going_on(record)}."
    return [because], [Forecast(text=resume)]


def _waits_for_person(facts: TaskFacts) -> _Said:
    because, following = [], []
    for prompt in facts.record.prompts:
        because.append(f"It asks a person ({duration(facts.now_ms - prompt.opened_at_ms)} ago): {asks_line(prompt)}")
        if prompt.deadline_ms is not None:
            left_ms = max(0, prompt.deadline_ms - facts.now_ms)
            text = f"In {duration(left_ms)} the sweep answers {prompt.default_answer!r} for the person."
            following.append(Forecast(text=text, in_ms=left_ms))
    if not because:
        because.append("It waits for a person's message.")
    for prompt in facts.record.prompts:
        if prompt.kind is PromptKind.CONVERSATION:
            continue
        command = f"`neuraphage answer {facts.record.short_id} {short_prompt_id(prompt)} ANSWER`"
        when = "Nothing by itself, it holds no worker" if prompt.deadline_ms is None else "Or before that"
        following.append(Forecast(text=f"{when}; {command} answers: {asks_line(prompt)}"))
    if not following:
        answer = f"Nothing by itself, it holds no worker; {going_on(facts.record)}."
        following.append(Forecast(text=answer))
    return because, following


def _waits_for_worker(facts: TaskFacts, rules: Rules) -> _Said:
    waited_ms = clocks(facts, rules).dispatch_ms or 0
    times = facts.publications
    sent = "sent" if not times else f"sent again by the sweep, {times} time{'s' if times > 1 else ''} so far,"
    because = [f"It waits for a worker: its message was {sent} {duration(waited_ms)} ago and no worker has claimed it."]
    if facts.workers == 0:
        start = "if none runs, start one (`neuraphage dev`, or a Celery worker of np.run)"
        because.append(f"No worker process that has had a turn is connected: {start}.")
    elif facts.workers:
        because.append(f"{_count(facts.workers, 'worker process')} connected; they may all be busy.")
    because += _recoveries(facts.record, rules)
    left_ms = max(0, (facts.due_ms or 0) - facts.now_ms)
    when = f"in {duration(left_ms)}" if left_ms else "with its next visit"
    again = f"The sweep will publish it again {when}, sooner if it finds the queue empty."
    return because, [Forecast(text=again, in_ms=left_ms)]


def _held(facts: TaskFacts, rules: Rules) -> _Said:
    record, due_ms, now_ms = facts.record, facts.due_ms or 0, facts.now_ms
    left_ms = due_ms - now_ms
    renewed_ms = rules.lease_ms - left_ms
    is_late = renewed_ms >= rules.missed_ms
    because = [_holding(facts.holder, record, renewed_ms, is_late=is_late), *_recoveries(record, rules)]
    crashed = facts.holder is None or not facts.holder.connected  # an expiry of who lives is no crash
    following = []
    if not is_late:
        text = f"Its lease runs out in {duration(left_ms)}, unless it is renewed, as it is every "
        following.append(Forecast(text=f"{text}{duration(rules.heartbeat_ms)}.", in_ms=left_ms))
    elif facts.suspect_since_ms is None:
        because.append("Two renewals were missed: it is hung, cut off, or stopped.")
        following.append(Forecast(text="The next visit marks it suspect; a second one decides.", in_ms=None))
    else:
        since_ms = now_ms - facts.suspect_since_ms
        because.append(f"It is suspect: {duration(since_ms)} ago a first visit found two renewals missed.")
        second_ms = max(0, left_ms, rules.missed_ms - since_ms)
        lease = f"Its lease runs out in {duration(left_ms)}" if left_ms > 0 else "Its lease is over"
        text = f"{lease}; the second visit{_when(second_ms)} recovers it: {outcome(facts, rules, crashed=crashed)}."
        following.append(Forecast(text=f"{text} A renewal before that clears the mark.", in_ms=second_ms))
    if facts.holder is not None and facts.holder.connected is False and rules.recovery_policy != "off":
        text = (
            "Its process has no connection: the watcher of its host recovers the task as soon as it sees it gone, a"
            f" watcher elsewhere after {duration(rules.absent_host_ms)} of absence; {outcome(facts, rules)}."
        )
        following.insert(0, Forecast(text=text))
    return because, following


def outcome(facts: TaskFacts, rules: Rules, *, crashed: bool = True) -> str:
    """What a recovery now would make of the task: the order of the script `recover`.

    Args:
        facts: of the task.
        rules: the limits.
        crashed: whether its process is gone, or not known to live.
    """
    record = facts.record
    begun = record.counters.iteration > 0 or record.marker.name is not MarkerName.TASK_CREATED
    if record.cancel_requested:
        return "it is cancelled"
    if begun and facts.now_ms - record.saved_at_ms > rules.saved_max_age_ms:
        return "it fails, since its last step is too old to go on from"
    if crashed and record.counters.recoveries + 1 >= rules.max_recoveries:
        return f"it fails, at {record.counters.recoveries + 1} recoveries in a row without an outcome"
    if record.pause_requested:
        return "it is paused, as a person asked"
    if rules.recovery_policy != "auto":
        return "it is paused until a person resumes it"
    return "it goes on from its marker" if begun else "it starts over"


def _holding(holder: Holder | None, record: TaskRecord, renewed_ms: int, *, is_late: bool) -> str:
    who = "a process that is not registered any more"
    if holder is not None and holder.pid is not None:
        who = f"worker process {holder.pid} on host {(holder.host or '?')[:HOST_CHARS]}"
    state = "held" if is_late else "worked on"
    renewed = f"its lease was renewed {duration(renewed_ms)} ago"
    return f"It is {state} by {who}; {renewed}. Marker: {record.marker.name.value}."


def _recoveries(record: TaskRecord, rules: Rules) -> list[str]:
    count = record.counters.recoveries
    if not count:
        return []
    times = f"{count} time{'s' if count > 1 else ''}"
    limit = f"at {rules.max_recoveries} it fails, so that a poisonous step is not paid for ever"
    return [f"It was recovered {times} since its last outcome; {limit}."]


def _sweep_trouble(facts: TaskFacts, rules: Rules) -> list[str]:
    if not facts.last_sweep_ms:
        return ["No sweep has ever run here: start beat and a worker of np.control (`neuraphage dev` has both)."]
    late_ms = facts.now_ms - facts.last_sweep_ms
    if late_ms <= SWEEP_OVERDUE_INTERVALS * rules.sweep_ms + rules.sweep_ms:
        return []
    return [f"No sweep has run for {duration(late_ms)}: look at beat, the worker of np.control and the broker."]


def _when(in_ms: int) -> str:
    return f" (in {duration(in_ms)})" if in_ms else ""


def _count(number: int, name: str) -> str:
    return f"{number} {name} is" if number == 1 else f"{number} {name}es are"

"""One line for people about each decision of the sweep and the watchers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from neuraphage.decide.duration import duration
from neuraphage.model.explanation import Clocks
from neuraphage.model.recovery import Evidence, RecoveryDecision

_EVIDENCE: Mapping[str, str] = {
    Evidence.EXPIRED: "its lease was late",
    Evidence.STALLED: "its lease was late, though its process lives",
    Evidence.GONE: "its process was seen to be gone",
    Evidence.ABSENT: "its host was absent",
    Evidence.PERSON: "by the command `recover`",
    Evidence.QUIET: "the queue was empty",
}


def decision_text(decision: RecoveryDecision) -> str:
    """The decision, its reason, and what it was made from."""
    facts = [_EVIDENCE.get(decision.evidence, "")]
    if decision.marker:
        facts.append(f"turn {decision.iteration + 1}, {decision.marker}")
    if decision.dispatch_age_ms is not None:
        facts.append(f"message sent {duration(decision.dispatch_age_ms)} before")
    if decision.publications > 1:
        facts.append(f"{decision.publications} times by now")
    if decision.lease_age_ms is not None:
        over = decision.lease_age_ms
        facts.append(f"lease over for {duration(over)}" if over >= 0 else f"lease had {duration(-over)} left")
    if decision.heartbeat_age_ms is not None:
        facts.append(f"renewed {duration(decision.heartbeat_age_ms)} before")
    if decision.saved_age_ms is not None:
        facts.append(f"last step {duration(decision.saved_age_ms)} before")
    if decision.recoveries:
        facts.append(f"{decision.recoveries} since its last outcome")
    return f"{decision.verdict}: {decision.reason} ({'; '.join(fact for fact in facts if fact)})"


def clocks_text(clocks: Clocks) -> str:
    """The clocks that run, in a few words each."""
    words = []
    if clocks.dispatch_ms is not None:
        words.append(f"message sent {duration(clocks.dispatch_ms)} ago")
    if clocks.claim_ms is not None:
        left = clocks.claim_ms
        words.append(f"lease ends in {duration(left)}" if left >= 0 else f"lease over for {duration(-left)}")
    if clocks.progress_ms is not None:
        words.append(f"renewed {duration(clocks.progress_ms)} ago")
    if clocks.checkpoint_ms is not None:
        words.append(f"last step saved {duration(clocks.checkpoint_ms)} ago")
    words.append("no sweep yet" if clocks.sweep_ms is None else f"last sweep {duration(clocks.sweep_ms)} ago")
    return ", ".join(words)

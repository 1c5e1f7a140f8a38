"""What each crash run must come to. Pure: facts and logs in, sentences out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from crash_cases import Outcome
from crash_facts import Facts

from neuraphage.testing import Call, CrashPoint, Side

RING = "Tool.run:ring#1"
WRITES = ("TurnStore.commit", "TurnStore.suspend", "TurnStore.finish", "TurnStore.go_on")


def ring_window(calls: Sequence[Call]) -> tuple[list[CrashPoint], list[CrashPoint]]:
    """Crash points at which the un-spooled opaque tool is announced and its result is not stored.

    Returns:
        Those before it ran, and those after. There its result says that it was interrupted, and nowhere else.
    """
    names = [str(call) for call in calls]
    if RING not in names:
        return [], []
    ring = names.index(RING)
    announced = max(i for i in range(ring) if calls[i].name in WRITES)
    stored = min(i for i in range(ring, len(calls)) if calls[i].name in WRITES)
    points = [
        CrashPoint(calls[i].name, calls[i].occurrence, side) for i in range(announced, stored + 1) for side in Side
    ]
    inside = points[1:-1]
    ran = inside.index(CrashPoint(calls[ring].name, calls[ring].occurrence, Side.AFTER))
    return inside[:ran], inside[ran:]


def problems(outcome: Outcome, reference: Facts, calls: Sequence[Call], paid: Mapping[str, Iterable[str]]) -> list[str]:
    """Everything wrong with one run.

    Args:
        outcome: what came of it.
        reference: facts of the run without a crash.
        calls: the recorded calls that the last crash point was taken from.
        paid: request id -> how each sending of it ended.
    """
    facts = outcome.facts
    if facts is None:
        return [outcome.problem]
    found = []
    expected, actual = reference.comparable(), facts.comparable()
    found += [
        f"{name}: {actual[name]!r}, not {expected[name]!r}" for name in expected if actual[name] != expected[name]
    ]
    found += _ring_problems(outcome, facts, calls)
    found += _notice_problems(outcome, facts)
    found += _payment_problems(outcome, facts, paid)
    return found


def _difference(actual: object, expected: object) -> str:
    """What differs; of lists only the first place that does."""
    if isinstance(actual, list) and isinstance(expected, list):
        for index, (one, other) in enumerate(zip(actual, expected, strict=False)):
            if one != other:
                return f"[{index}] {_difference(one, other)}"
        return f"{len(actual)} entries, not {len(expected)}"
    return f"{actual!r}, not {expected!r}"


def _ring_problems(outcome: Outcome, facts: Facts, calls: Sequence[Call]) -> list[str]:
    not_run, run = ring_window(calls)
    point = outcome.case.points[-1] if outcome.case.points else None
    interrupted = point in not_run or point in run
    rings = 0 if point in not_run else 1
    found = []
    if facts.ring_interrupted != interrupted:
        found.append(f"the un-spooled tool counts as {'' if facts.ring_interrupted else 'not '}interrupted")
    if facts.rings != rings:
        found.append(f"the un-spooled tool ran {facts.rings} times, not {rings}")
    return found


def _notice_problems(outcome: Outcome, facts: Facts) -> list[str]:
    """A notice is told again only where its teller died before it could say so."""
    between = sum(
        (point.call, point.side) in (("Outside.tell", Side.AFTER), ("NoticeStore.end_notice", Side.BEFORE))
        for point in outcome.case.points
    )
    return [] if facts.told_again <= between else [f"{facts.told_again} notices came twice"]


def _payment_problems(outcome: Outcome, facts: Facts, paid: Mapping[str, Iterable[str]]) -> list[str]:
    sendings = {request: list(paid.get(request, ())) for request in facts.requests}
    found = [
        f"request {name} was refused: {ends}" for name, ends in sendings.items() if any("refused" in e for e in ends)
    ]
    replies = [ends.count("completed") for ends in sendings.values()]
    if len(replies) != facts.counters["model_calls"] or not all(replies):
        found.append(f"{facts.counters['model_calls']} committed replies, the provider answered {replies}")
    if sum(replies) - len(replies) > facts.resends:
        found.append(f"{sum(replies)} replies paid for {len(replies)} requests, only {facts.resends} counted as resent")
    if facts.resends > len(outcome.case.points):
        found.append(f"{facts.resends} calls were resent after {len(outcome.case.points)} crashes")
    return found

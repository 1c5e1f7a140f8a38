"""A process may die at any call of any port: the task ends as if it had not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import cycle

import pytest
from crash_cases import Case, Outcome, run_cases
from crash_driver import Finder, Span
from crash_effects import PLAN
from crash_judge import problems, ring_window
from crash_world import API_KEY

from neuraphage.testing import Call, CrashPoint, crash_points, recordable

pytestmark = [pytest.mark.real_redis, pytest.mark.timeout(2_400)]

JOBS = 5
MIN_POINTS = 60
RECOVERIES = {
    "reply": ("Relay.answer#1.after", Finder.WATCHER, Span.FIRST_TURN),
    "attach": ("Spool.start#1.after", Finder.SWEEP, Span.TO_FIRST_TURN),
    "probe": ("Tool.run:write_file#1.after", Finder.WATCHER, Span.TO_FIRST_TURN),
    "sealed": ("Spool.start#1.before", Finder.WATCHER, Span.FIRST_TURN),
    "read": ("Spool.wait#1.after", Finder.WATCHER, Span.FIRST_TURN),
}
"""First crash, finder and recorded span of each recovery whose own calls are crash points too."""
OBSERVED = "no turn tells observers: test_observer_points.py dies around it"
NEVER_CALLED = {
    "Relay.cancel": "nobody cancels the plan's task; tests/stack has it",
    "Relay.leave": "it ends a connection of a process that has lost its lease; tests/unit/relay has it",
    "TurnStore.settle_call": "only with limits: tests/unit/runtime/test_model_limits_in_turns.py dies around it",
    "TurnStore.learn_limits": "where headers tell limits: tests/unit/runtime/test_learned_limits_in_turns.py",
    "ObserverStore.begin": OBSERVED,
    "ObserverStore.end": OBSERVED,
    "ObserverStore.note": OBSERVED,
    "ObserverStore.settle": OBSERVED,
    "ObserverStore.again": OBSERVED,
    "Observers.tell": OBSERVED,
    "Spool.cancel": "the runtime never calls it: the spool ends a cancelled command itself, inside wait",
}


@dataclass
class Suite:
    """The runs of one session.

    Args:
        reference: the run without a crash.
        recoveries: the recorded recoveries, by name.
        crashed: all runs with crashes, each with the calls that its last point was taken from.
        paid: request id -> how each sending ended.
        complete: whether every crash point was run.
    """

    reference: Outcome
    recoveries: dict[str, Outcome]
    crashed: list[tuple[Outcome, tuple[Call, ...]]] = field(default_factory=list)
    paid: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    complete: bool = True


def crash_cases(suite: Suite) -> list[tuple[Case, tuple[Call, ...]]]:
    """Both sides of every recorded call; the finder takes turns, so that each side meets each finder."""
    cases = []
    turns = cycle([Finder.SWEEP, Finder.WATCHER, Finder.WATCHER, Finder.SWEEP])
    for point in crash_points(suite.reference.calls):
        cases.append((Case(f"task/{point}", (point,), (next(turns),)), suite.reference.calls))
    for name, recovery in suite.recoveries.items():
        first, finder = recovery.case.points[0], recovery.case.finders[0]
        for point in crash_points(recovery.calls):
            case = Case(f"{name}/{point}", (first, point), (finder, next(turns)), span=recovery.case.span)
            cases.append((case, recovery.calls))
    return cases


@pytest.fixture(scope="module")
def suite(bench, request: pytest.FixtureRequest) -> Suite:
    """All runs, made once."""
    recorded = [Case("reference", records=True)]
    for name, (point, finder, span) in RECOVERIES.items():
        recorded.append(Case(name, (CrashPoint.parse(point),), (finder,), records=True, span=span))
    reference, *recoveries = run_cases(recorded, bench.site, JOBS)
    for outcome in (reference, *recoveries):
        assert outcome.facts is not None, f"{outcome.case.name}: {outcome.problem}"
    suite = Suite(reference, {outcome.case.name: outcome for outcome in recoveries})
    cases = crash_cases(suite)
    wanted = request.config.getoption("--crash-point", default=None)
    if wanted is not None:
        cases = [pair for pair in cases if fnmatch(pair[0].name, wanted)]
        suite.complete = False
        assert cases, f"no crash point is named {wanted!r}"
    outcomes = run_cases([case for case, _ in cases], bench.site, JOBS)
    suite.crashed = [(outcome, calls) for outcome, (_, calls) in zip(outcomes, cases, strict=True)]
    for row in bench.requests():
        suite.paid[str(row["request_id"])].append(str(row["outcome"]))
    return suite


def test_the_reference_run_does_what_the_plan_says(suite):
    """Every effect happened once or as often as it was asked for, without any crash."""
    facts = suite.reference.facts
    assert facts.status == "Completed"
    assert facts.faults == [], "the others are only compared with these"
    assert facts.files == {"a.txt": "one\ntwo\n", "b.txt": "goodbye\n", "ran": "x\nx\n"}
    assert (facts.deposits, facts.rings, facts.resends, facts.evidence) == (2, 1, 0, [])
    assert facts.asked_again == 0
    assert facts.counters["iteration"] == facts.counters["model_calls"] - 1 == len(PLAN) + 3
    assert facts.compacted == ["summary by claude-haiku-5-5"]
    assert facts.follower == ["Queued", "outbox", 2, "Completed"], "released once, by the first completion"
    assert facts.yearly == ["Queued", "outbox", 1, 1], "made once"
    assert (facts.told, facts.told_again, facts.superseded) == (3, 0, 1)
    assert facts.scheduled, "the limit of tasks at work was not in force"
    assert facts.counters["tool_runs"] == sum(map(len, PLAN))
    assert problems(suite.reference, facts, suite.reference.calls, suite.paid) == []
    results = [b for _, blocks in facts.conversation for b in blocks if b["type"] == "tool_result"]
    texts = [block["content"] for block in results]
    assert facts.conversation[-2:] == [
        ["user", [{"type": "text", "text": "One thing more."}]],
        ["assistant", [{"type": "text", "text": "All done."}]],
    ]
    assert "1\n0\n[exit code 0]" in texts, "the command must not see the API key"
    assert "2\n0\n[exit code 0]" in texts, "the second command with the same parameters must run too"
    assert "green" in texts
    assert any(text.startswith("Nobody answered within 3600 s whether this write_file") for text in texts)


def test_recovered_runs_end_as_the_reference(suite):
    """The recorded recoveries themselves end well: attached, probed, sealed and read."""
    for name, outcome in suite.recoveries.items():
        assert problems(outcome, suite.reference.facts, suite.reference.calls, suite.paid) == [], name
    names = {name: {call.name for call in outcome.calls} for name, outcome in suite.recoveries.items()}
    assert {"Spool.seal", "Spool.wait"} <= names["attach"]
    assert "Spool.start" not in names["attach"]
    assert "Tool.probe:write_file" in names["probe"]
    assert "Tool.run:write_file" not in names["probe"]
    assert {"Spool.seal", "Spool.start"} <= names["sealed"]
    assert {"Spool.seal", "Spool.look"} <= names["read"]
    assert "Spool.start" not in names["read"]


def test_every_port_method_is_recorded(suite):
    """No call of a port is missing from the enumeration without a reason."""
    outcomes = (suite.reference, *suite.recoveries.values())
    seen = {call.name.partition(":")[0] for outcome in outcomes for call in outcome.calls}
    assert recordable() - seen == set(NEVER_CALLED)


def test_every_crash_point_ends_as_the_reference(suite, announce):
    """Same conversation, files, counters and payments; nothing twice, nothing broken, nothing leaked."""
    failed = {}
    for outcome, calls in suite.crashed:
        found = problems(outcome, suite.reference.facts, calls, suite.paid)
        if found:
            failed[outcome.case.name] = found
    announce(f"{len(suite.crashed)} crash points, {len(failed)} failed")
    lines = [
        f"{name}: {'; '.join(found)}\n  rerun: pytest tests/crash --crash-point '{name}'"
        for name, found in failed.items()
    ]
    assert not failed, "\n".join(lines)
    if suite.complete:
        recorded = len(suite.reference.calls) + sum(len(r.calls) for r in suite.recoveries.values())
        assert len(suite.crashed) == 2 * recorded >= MIN_POINTS
        before, after = ring_window(suite.reference.calls)
        assert (len(before), len(after)) == (2, 2)


def test_both_ways_of_finding_an_orphan_were_used(suite):
    """Leases that ran out and processes that were gone: each recovered many runs."""
    if not suite.complete:
        pytest.skip("only one crash point was run")
    evidence = [word for outcome, _ in suite.crashed if outcome.facts for word in outcome.facts.evidence]
    assert evidence.count("expired") >= MIN_POINTS // 2
    assert evidence.count("gone") >= MIN_POINTS // 2


def test_no_request_of_any_run_was_refused(suite, bench):
    """The scripted API refuses a conversation whose tool calls are not all answered: it refused none."""
    assert suite.paid
    assert [row for row in bench.requests() if str(row["outcome"]).startswith("refused")] == []


def test_the_api_key_never_reached_redis(suite, bench):
    """Nothing that any run wrote, at any time, holds the key: the append-only file has it all."""
    written = b"".join(file.read_bytes() for file in (bench.valkey.folder / "appendonlydir").iterdir())
    assert b"Do the plan." in written
    assert API_KEY.encode() not in written

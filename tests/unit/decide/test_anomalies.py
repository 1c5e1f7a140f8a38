"""Readings of how a task goes, held against their limits."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from neuraphage.decide.anomalies import Watched, watched
from neuraphage.decide.own_anomalies import anomaly_rules, read_anomaly_rule
from neuraphage.decide.snapshot import Bounds, Snapshot
from neuraphage.errors import BadInput
from neuraphage.model.anomaly import DEFAULT_RULES, AnomalyKind, AnomalyRule, OnAnomaly
from neuraphage.model.effect import EffectClass, EffectState, Marker, MarkerName, ToolEffect
from neuraphage.model.task import QueuedDetail, Status, TaskRecord, TaskSpec
from neuraphage.model.tool import ToolCall, ToolDeclaration
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.model.usage import Counters

Entry = dict[str, Any]
DIR = "/work/site"


def tool(name: str, effect_class: EffectClass, **traits: Any) -> ToolDeclaration:
    """A tool by its class and traits."""
    return ToolDeclaration(
        name=name,
        description="d",
        input_schema={"type": "object"},
        effect_class=effect_class,
        side_effecting=False,
        timeout_s=10.0,
        traits=ToolTraits(**traits),
    )


TOOLS = {
    "look": tool("look", EffectClass.PURE, reads=("path",)),
    "change": tool("change", EffectClass.CHECKABLE, writes=("path",)),
    "run": tool("run", EffectClass.OPAQUE, command="command"),
}


class Story:
    """A conversation that is written call by call."""

    def __init__(self) -> None:
        self.entries: list[Entry] = [{"role": "user", "content": [{"type": "text", "text": "Do it."}], "turn": 0}]
        self.turn = -1
        self.calls: list[ToolCall] = []
        self.journal: dict[str, ToolEffect] = {}

    def call(self, name: str, params: Mapping[str, Any], result: str = "r", **more: Any) -> Story:
        """One turn with one call: `fails`, its `ms`, the reply's `tokens`, what of them was `cached`, the `effect`."""
        self.turn += 1
        key = f"t{self.turn}"
        use = {"type": "tool_use", "id": key, "name": name, "input": dict(params)}
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": key, "content": result}
        block |= {"is_error": True} if more.get("fails") else {}
        reply: Entry = {"role": "assistant", "content": [use], "turn": self.turn, "tokens": more.get("tokens", 0)}
        reply |= {"total_ms": more.get("ms", 0), "cache": {"read": more.get("cached", 0)}}
        self.entries += [reply, {"role": "user", "content": [block], "turn": self.turn, "began": more.get("began")}]
        self.calls = [ToolCall(tool_use_id=key, name=name, params=dict(params))]
        effect = {"effect_class": TOOLS[name].effect_class, **more.get("effect", {})}
        self.journal = {key: ToolEffect(key=key, state=EffectState.COMPLETED, tool=name, **effect)}
        return self

    def note(self, kind: AnomalyKind, *, acted: bool = True) -> Story:
        """The runtime told of an anomaly."""
        text = [{"type": "text", "text": "[Runtime note]"}]
        note = {"kind": kind.value, "acted": acted}
        self.entries.append({"role": "user", "content": text, "turn": self.turn, "anomaly": note})
        return self

    def said(self) -> Story:
        """A person wrote."""
        self.entries.append(
            {"role": "user", "content": [{"type": "text", "text": "!"}], "turn": self.turn, "said": True}
        )
        return self

    def watched(self, *rules: str, now_ms: int = 1_000_000) -> Watched:
        """What is seen at the end of the last turn."""
        spec = TaskSpec(task_id=f"task-{uuid.UUID(int=7)}", name="n", prompt="p", model="m", working_dir=DIR)
        record = TaskRecord(
            spec=spec,
            status=Status.RUNNING,
            detail=QueuedDetail(queued_at_ms=0),
            marker=Marker(name=MarkerName.TASK_CREATED),
            counters=Counters(iteration=self.turn),
            seq=1,
            fence=1,
        )
        bounds = Bounds(max_continues=1, max_empty_replies=1, anomalies=anomaly_rules(rules))
        facts: dict[str, Any] = {"problems": {}, "grants": {}, "prompts": {}, "answered": frozenset()}
        return watched(
            Snapshot(
                record=record,
                entries=self.entries,
                fence=1,
                journal=self.journal,
                calls=tuple(self.calls),
                tools=TOOLS,
                now_ms=now_ms,
                bounds=bounds,
                **facts,
            )
        )

    def seen(self, *rules: str, now_ms: int = 1_000_000) -> dict[AnomalyKind, int]:
        """Readings that reach their limits."""
        return {one.kind: one.reading for one in self.watched(*rules, now_ms=now_ms).reached}


def test_the_same_call_that_fails_again_is_seen() -> None:
    """At its limit; looks in between, and other failures, do not end the row."""
    story = Story()
    for number in range(5):
        assert AnomalyKind.SAME_CALL_FAILS not in story.call("look", {"path": f"{number}"}).seen()
        story.call("run", {"command": "make  all"}, f"error {number}", fails=True)
    assert story.seen() == {AnomalyKind.SAME_CALL_FAILS: 5}
    assert story.watched().reached[0].what == 'run {"command":"make all"}'


def test_what_was_changed_in_between_begins_the_row_anew() -> None:
    """Edit and run the tests again is how work is done."""
    story = Story()
    for number in range(8):
        story.call("change", {"path": f"{number}"}).call("run", {"command": "pytest"}, "1 failed", fails=True)
    assert story.seen() == {}


def test_a_call_that_works_in_the_end_has_not_failed() -> None:
    """What counts is how often it failed since it last worked."""
    story = Story()
    for _ in range(4):
        story.call("look", {"path": "a"}, fails=True)
    story.call("look", {"path": "a"})
    for _ in range(2):
        story.call("look", {"path": "a"}, fails=True)
    assert story.seen() == {}


def test_the_same_result_again_and_again_is_seen() -> None:
    """Also of a call that works: a poll whose answer differs by words is none."""
    story, poll = Story(), Story()
    for number in range(10):
        story.call("run", {"command": "git status"}, f"clean, took {number} ms")
        poll.call("run", {"command": "status"}, "step " + "abcdefghij"[number])
    assert story.seen("same_call warn 10") == {AnomalyKind.SAME_CALL: 10}
    assert poll.seen("same_call warn 2") == {}
    assert poll.watched().half is None
    for letter in "abcdefghij":
        poll.call("look", {"path": "log"}, f"step {letter}")
    assert poll.seen("same_call warn 2") == {}


def test_a_cycle_of_calls_is_seen() -> None:
    """opencode 47759: A, B, A, B is no three in a row; both run commands, and neither brings anything new."""
    story = Story()
    for _ in range(10):
        story.call("run", {"command": "ls a"}, "x").call("run", {"command": "ls b"}, "y")
    assert story.seen() == {AnomalyKind.SAME_CALL: 10}
    story = Story()
    for _ in range(5):
        story.call("run", {"command": "echo again"}, "again").call("run", {"command": "make"}, "no rule", fails=True)
    assert story.seen() == {AnomalyKind.SAME_CALL_FAILS: 5}


def test_a_result_that_differs_by_a_counter_is_the_same() -> None:
    """bounty-challenge 50173: times, counters and progress in the output hid the loop."""
    story = Story()
    for number in range(10):
        story.call("run", {"command": "status"}, f"[2026-12-01 10:{number}:00] {number * 7} % done, pid {number}")
    assert story.seen() == {AnomalyKind.SAME_CALL: 10}


def test_slow_repeats_are_seen_as_quick_ones() -> None:
    """bounty-challenge 7879: a window of time is evaded by waiting; there is none."""
    story = Story()
    for number in range(5):
        story.call("run", {"command": "x"}, fails=True, ms=3_600_000, began=["commands", number * 3_600_000])
    assert AnomalyKind.SAME_CALL_FAILS in story.seen()


def test_many_calls_of_one_reply_count_once() -> None:
    """OpenHands 1240: who asks for ten files at once has not seen yet that they are missing."""
    story = Story()
    for turn in range(3):
        for number in range(10):
            story.call("look", {"path": f"{turn}"}, f"{number}", fails=True)
            for entry in story.entries[-2:]:
                entry["turn"] = turn
    replies = [entry for entry in story.entries if entry["role"] == "assistant"]
    for turn in range(3):
        first, *others = [entry for entry in replies if entry["turn"] == turn]
        for other in others:
            first["content"] += other["content"]
            story.entries.remove(other)
    story.turn = 2
    readings = {
        one.kind: one.reading for one in story.watched("same_call_fails warn 1", "failures_in_a_row warn 1").reached
    }
    assert readings == {AnomalyKind.SAME_CALL_FAILS: 1, AnomalyKind.FAILURES_IN_A_ROW: 3}


def test_failures_in_a_row_are_counted_whatever_failed() -> None:
    """One that works ends the row."""
    story = Story()
    for number in range(10):
        story.call("run", {"command": str(number) * 3 + "abc"[number % 3]}, fails=True)
    assert story.seen("same_call_fails off") == {AnomalyKind.FAILURES_IN_A_ROW: 10}
    assert story.call("look", {"path": "x"}).seen("same_call_fails off") == {}


def test_work_that_brings_nothing_new_is_seen_by_its_time() -> None:
    """A look at what was seen before brings nothing; the time of replies and calls counts, and nothing else."""
    story = Story().call("look", {"path": "a"}, "one", ms=900_000)
    assert story.seen() == {}
    for _ in range(3):
        story.call("look", {"path": "a"}, "one", ms=200_000)
    assert story.seen() == {AnomalyKind.NO_PROGRESS: 600}
    assert story.call("look", {"path": "a"}, "two", ms=200_000).seen() == {}
    for words in ("no file", "no host", "no luck"):
        story.call("run", {"command": words}, words, fails=True, ms=200_000)
    assert story.seen() == {AnomalyKind.NO_PROGRESS: 600}


def test_one_long_command_that_fails_is_no_standstill() -> None:
    """A build of an hour that fails, and the look at its log, are two turns: the model has only just heard of it."""
    story = Story().call("run", {"command": "make"}, "error", fails=True, ms=3_600_000)
    assert story.seen() == {}
    assert story.call("look", {"path": "log"}, "no log", fails=True).seen() == {}
    assert story.call("look", {"path": "logs"}, "none", fails=True).seen() == {AnomalyKind.NO_PROGRESS: 3600}


def test_the_tokens_of_a_turn_count_without_those_of_the_cache() -> None:
    """The whole conversation is sent each time; what is new of it is the cost of the turn."""
    assert Story().call("look", {}, tokens=150_000, cached=140_000).seen() == {}
    story = Story().call("look", {}, tokens=150_000, cached=90_000)
    assert story.seen() == {AnomalyKind.TURN_TOKENS: 60_000}
    story.turn += 1  # whose reply was empty, and is not stored by an early release
    assert story.seen() == {}


def test_writes_of_a_minute_are_counted_by_their_begins() -> None:
    """Those of the last minute, by the server's clock."""
    story = Story()
    for number in range(6):
        story.call("change", {"path": str(number)}, began=["writes", 1_000_000 + number])
    assert story.seen("writes_a_minute warn 6", now_ms=1_000_010) == {AnomalyKind.WRITES_A_MINUTE: 6}
    assert story.seen("writes_a_minute warn 6", now_ms=1_060_003) == {}


@pytest.mark.parametrize(
    ("path", "is_seen"),
    [
        ("src/a.py", False),
        (f"{DIR}/a", False),
        (".", False),
        ("../site/a", False),
        ("../other", True),
        ("/etc/hosts", True),
        (f"{DIR}-old/a", True),
        ("", False),
    ],
)
def test_files_outside_of_the_directory_are_seen(path: str, is_seen: bool) -> None:
    """Of calls that were run."""
    story = Story().call("look", {"path": path})
    assert (AnomalyKind.UNUSUAL_PATH in story.seen()) is is_seen


def test_a_call_that_was_not_run_touched_no_file() -> None:
    """It was denied, or its parameters did not fit."""
    assert Story().call("look", {"path": "/etc/hosts"}, effect={"effect_class": None}).seen() == {}


def test_refused_hosts_and_much_output_are_seen() -> None:
    """They stand in the journal of the turn."""
    story = Story().call("run", {"command": "pip"}, effect={"refused": ("b:443", "a:443"), "output_bytes": 10_000_000})
    seen = {one.kind: (one.reading, one.what) for one in story.watched().reached}
    assert seen == {AnomalyKind.REFUSED_HOST: (2, "a:443, b:443"), AnomalyKind.RUNAWAY_OUTPUT: (10_000_000, "run")}
    assert story.call("look", {}).seen() == {}


def test_what_was_acted_on_is_counted_anew_and_a_person_clears_all() -> None:
    """A task that goes on is not paused again for the same steps; other kinds count on."""
    story = Story()
    for _ in range(5):
        story.call("run", {"command": "x"}, fails=True)
    assert story.note(AnomalyKind.SAME_CALL_FAILS).seen() == {}
    for _ in range(5):
        story.call("run", {"command": "x"}, fails=True)
    assert story.seen() == {AnomalyKind.SAME_CALL_FAILS: 5, AnomalyKind.FAILURES_IN_A_ROW: 10}
    assert story.said().seen() == {}


def test_what_a_turn_was_paused_for_does_not_pause_it_again() -> None:
    """Its readings are still there when it goes on."""
    story = Story().call("look", {"path": "/etc/hosts"}, tokens=90_000)
    assert story.note(AnomalyKind.TURN_TOKENS).seen() == {AnomalyKind.UNUSUAL_PATH: 1}


def test_the_model_is_told_once_when_half_is_reached() -> None:
    """Of what it can do otherwise."""
    story = Story().call("run", {"command": "x"}, fails=True).call("run", {"command": "x"}, fails=True)
    assert story.watched().half is None
    half = story.call("run", {"command": "x"}, fails=True).watched().half
    assert half is not None
    assert (half.kind, half.reading, half.limit) == (AnomalyKind.SAME_CALL_FAILS, 3, 5)
    story.note(AnomalyKind.SAME_CALL_FAILS, acted=False).call("run", {"command": "x"}, fails=True)
    assert story.watched("failures_in_a_row off").half is None
    assert story.call("run", {"command": "x"}, fails=True).seen() == {AnomalyKind.SAME_CALL_FAILS: 5}


def test_off_looks_for_nothing() -> None:
    """Of one kind, or of all."""
    story = Story().call("look", {"path": "/etc/hosts"}, tokens=90_000)
    assert story.seen("turn_tokens off") == {AnomalyKind.UNUSUAL_PATH: 1}
    assert story.watched(*(f"{kind} off" for kind in AnomalyKind)) == Watched()


def test_every_kind_has_a_rule_by_default() -> None:
    """A line changes one of them; its limit stays where none is written."""
    assert set(DEFAULT_RULES) == set(AnomalyKind)
    rules = anomaly_rules(["no_progress fail", "same_call pause 4", "turn_tokens off"])
    assert rules[AnomalyKind.NO_PROGRESS] == AnomalyRule(action=OnAnomaly.FAIL, limit=600)
    assert rules[AnomalyKind.SAME_CALL] == AnomalyRule(action=OnAnomaly.PAUSE, limit=4)
    assert AnomalyKind.TURN_TOKENS not in rules


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no_progress",
        "no_progress stop",
        "progress warn",
        "same_call warn 0",
        "same_call warn -1",
        "same_call warn \u0663",
        "same_call warn 1e3",
        f"same_call warn {10**12 + 1}",
        f"same_call warn {'9' * 500}",
        "a b c d",
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str) -> None:
    """With the form that is wanted."""
    with pytest.raises(BadInput, match="write KIND ACTION"):
        read_anomaly_rule(line)

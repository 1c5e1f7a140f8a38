"""A task as it goes, for people: replies, tool calls with diffs and results, and what it has cost so far."""

from __future__ import annotations

import time
from typing import Protocol

from neuraphage.api.transcript import Call, Transcript
from neuraphage.cli.call_text import body, outcome, title
from neuraphage.cli.console import dollars
from neuraphage.cli.event_text import routine
from neuraphage.cli.traits import traits_of
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.seen_text import Line
from neuraphage.model.effect import MarkerName
from neuraphage.model.event import Event, EventKind
from neuraphage.model.phase import Phase
from neuraphage.model.task import RunningDetail, Status, TaskRecord
from neuraphage.model.usage import Counters
from neuraphage.ports import Delta

SHOWN_KINDS = ("thinking", "text")
_ENDS = frozenset({EventKind.TASK_COMPLETED, EventKind.TASK_FAILED, EventKind.TASK_CANCELLED, EventKind.TASK_PAUSED})


class Show(Protocol):
    """What follows a task."""

    def line(self, text: str, style: str = "") -> None:
        """Write a comment of ours, on a line of its own."""

    def show(self, item: Event | Delta) -> None:
        """Write a line of the history, or a piece of the reply."""

    def progress(self, record: TaskRecord) -> None:
        """Take in the task as it stands now; called often."""

    def end_text(self) -> None:
        """End what is open."""


class TaskView:
    """Shows one task on a console.

    Args:
        viewer: writes.
        transcript: the conversation.
    """

    def __init__(self, viewer: Viewer, transcript: Transcript) -> None:
        self._viewer = viewer
        self._transcript = transcript
        self._titled: set[str] = set()  # calls whose title stands there
        self._asked_here: set[str] = set()  # calls that were shown in full when a person was asked
        self._answers_here = 0
        self._streamed = dict.fromkeys(SHOWN_KINDS, "")  # of the present reply
        self._activity, self._since_s = "", time.monotonic()
        self._turns_told = 0
        self._told: Counters | None = None  # as they were when a turn was last told
        self._came_late = False
        self._is_over = False
        self.note = ""
        """What the passing line says in place of what goes on."""

    def line(self, text: str, style: str = "") -> None:
        """Write a comment of ours, on a line of its own."""
        self._viewer.line(text, style)

    def end_text(self) -> None:
        """End what is open."""
        self._viewer.end_text()

    def show(self, item: Event | Delta) -> None:
        """Write a line of the history, or a piece of the reply."""
        if isinstance(item, Delta):
            self._delta(item)
        else:
            self._event(item)

    def _delta(self, delta: Delta) -> None:
        if delta.kind == "tool":
            self._viewer.end_text()
            self._does(f"the model writes a call of {delta.text}")
            return
        self._does("the model answers")
        self._streamed[delta.kind] = self._streamed.get(delta.kind, "") + delta.text
        self._viewer.delta(delta)

    def _event(self, event: Event) -> None:
        self._is_over = event.kind in _ENDS
        match event.kind:
            case EventKind.REQUEST_SENT:
                self._viewer.end_text()
                self._streamed = dict.fromkeys(SHOWN_KINDS, "")
                self._does("makes a summary" if event.data.get("purpose") else "asks the model")
            case EventKind.RESPONSE_RECEIVED if not event.data.get("purpose"):  # a summary is no reply
                self._rest_of_reply()
                self._does("decides")
            case EventKind.TOOL_STARTED | EventKind.TOOL_COMPLETED:
                self._tool(event)
                return
            case EventKind.TASK_RESET:
                self._transcript.restart()
            case EventKind.ANSWER_RECEIVED if self._answers_here:
                self._answers_here -= 1
                return
            case EventKind.PERMISSION_GRANTED | EventKind.PERMISSION_DENIED if event.data.get("id") in self._asked_here:
                return
            case EventKind.TASK_COMPLETED:
                self._summary(str(event.data.get("summary", "")))
                return
        if not routine(event):
            self._viewer.event(event)

    def answered_here(self, call_id: str | None) -> None:
        """Note that a person has answered in this view: what they saw and typed is not told again."""
        self._answers_here += 1
        if call_id is not None:
            self._asked_here.add(call_id)

    # --- replies ---

    def _rest_of_reply(self) -> None:
        """Show what was stored of a reply and not streamed: to who came late, or while pieces were lost."""
        stored = {"thinking": "", "text": ""}
        for block in self._transcript.take_reply():
            kind = str(block.get("type"))
            if kind in stored:
                stored[kind] += str(block.get(kind, ""))
        for kind in SHOWN_KINDS:
            seen = self._streamed[kind]
            if stored[kind].startswith(seen):
                rest = stored[kind][len(seen) :]
            else:  # joined in the middle: the whole of it, from the start
                self._viewer.end_text()
                rest = stored[kind]
            if rest:
                self._viewer.delta(Delta(kind, rest))
        self._viewer.end_text()
        self._streamed = stored

    def _summary(self, text: str) -> None:
        """What the task came to, in full, unless it has just been said."""
        if text.strip() != self._streamed["text"].strip():
            self._viewer.delta(Delta("text", text))
        self._viewer.event(Event(kind=EventKind.TASK_COMPLETED))

    # --- calls ---

    def _tool(self, event: Event) -> None:
        call_id = str(event.data.get("id", ""))
        call = self._transcript.call(call_id)
        if call is None or event.data.get("unknown"):
            self._viewer.event(event)
            return
        if event.kind == EventKind.TOOL_STARTED:
            self._does(f"runs {call.tool}")
            if self._comes_at_once(call_id, call):
                return  # one line, when its result is there
            self._title(call_id, call)
            return
        result = self._transcript.take_result(call_id)
        words, lines = ("", []) if result is None else outcome(call.tool, result.text, is_error=result.is_error)
        self._title(call_id, call, words, failed=result is not None and result.is_error)
        self._viewer.block(lines, whole=traits_of(call.tool).command is None)
        self._does("decides")

    def _title(self, call_id: str, call: Call, words: str = "", *, failed: bool = False) -> None:
        if call_id in self._titled:
            return
        self._titled.add(call_id)
        lines = self._body(call_id, call)
        words = words or ("done" if traits_of(call.tool).change and not lines and not failed else "")
        self._viewer.line(f"  {title(call.tool, call.params)}" + (f": {words}" if words else ""), "bold")
        self._viewer.block(lines)

    def _comes_at_once(self, call_id: str, call: Call) -> bool:
        """Whether nothing is to be seen of a call before its result."""
        return traits_of(call.tool).command is None and not self._body(call_id, call)

    def _body(self, call_id: str, call: Call) -> list[Line]:
        return [] if call_id in self._asked_here else body(call.tool, call.params, call.before)

    # --- what goes on ---

    def progress(self, record: TaskRecord) -> None:
        """Say after each turn, and on a terminal all the time, what the task has used."""
        turns = record.counters.iteration
        if self._told is None:
            self._turns_told, self._told = turns, record.counters
            self._came_late = record.counters.tokens_used > 0
        if turns > self._turns_told and not self._viewer.is_open and not self._is_over:
            self._viewer.line(f"  {_done(self._turns_told, turns)} done, {self._of_turn(record)}", "dim")
            self._turns_told, self._told = turns, record.counters
        now = self.note or self._now(record)
        seconds = int(time.monotonic() - self._since_s)
        self._viewer.status(f"turn {turns + 1}, {used(record)}, {now}" + (f" {seconds} s" if seconds else ""))

    def _of_turn(self, record: TaskRecord) -> str:
        """What was used since the last turn that was told; and by the task, where that is more."""
        before, now = self._told, record.counters
        if before is None or before.tokens_used == 0:
            return used(record)
        if self._came_late:  # perhaps in the midst of this turn, when some of it was paid
            self._came_late = False
            return f"so far {used(record)}"
        tokens, cost = now.tokens_used - before.tokens_used, now.cost_microusd - before.cost_microusd
        return f"{tokens:,} tokens, {dollars(cost)}; so far {used(record)}"

    def _does(self, activity: str) -> None:
        if activity != self._activity:
            self._activity, self._since_s = activity, time.monotonic()

    def _now(self, record: TaskRecord) -> str:
        if record.status is Status.QUEUED:
            return "waits for a worker"
        if isinstance(record.detail, RunningDetail) and record.detail.phase is Phase.RETRY_WAIT:
            asks = record.marker.name is MarkerName.REQUEST_SENT
            return "waits before it asks again" if asks else "waits before its next call"
        return self._activity or "begins"


def _done(before: int, turns: int) -> str:
    """The turns that are done since the last look."""
    return f"turn {turns}" if turns == before + 1 else f"turns {before + 1} to {turns}"


def used(record: TaskRecord) -> str:
    """Tokens and money so far, in a few words."""
    counters = record.counters
    return f"{counters.tokens_used:,} tokens, {dollars(counters.cost_microusd)}"

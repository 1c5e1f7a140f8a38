"""What a turn comes to whose calls are all settled. Pure."""

from __future__ import annotations

from dataclasses import replace

from neuraphage.decide.actions import Action
from neuraphage.decide.anomalies import Watched, watched
from neuraphage.decide.anomaly_text import TOLD_TO_MODEL, told_to_model, told_to_people
from neuraphage.decide.compaction import fills_it_again
from neuraphage.decide.control import ending
from neuraphage.decide.conversation import CONTINUE_TEXT, final_text
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, PauseFor, Remark, Rest
from neuraphage.decide.replies import ReplyEnd, end_of, nudge, streak, why_failed
from neuraphage.decide.snapshot import Snapshot
from neuraphage.model.anomaly import Anomaly, AnomalyNote, OnAnomaly
from neuraphage.model.effect import model_effect
from neuraphage.model.task import Mode
from neuraphage.model.tool import ControlKind, ToolCall

SUMMARY_CHARS = 10_000


def turn_end(snapshot: Snapshot) -> Action:
    """Complete, fail, rest, pause, or go on with another turn."""
    action = _ending(snapshot)
    seen = watched(snapshot)
    if isinstance(action, NextTurn):
        return _going_on(snapshot, action, seen)
    return replace(action, seen=seen.reached)


def _going_on(snapshot: Snapshot, action: NextTurn, seen: Watched) -> Action:
    """Another turn, unless the task is to stop for what was seen. A person who has just written is heard first."""
    worst = {snapshot.bounds.anomalies[one.kind].action: one for one in reversed(seen.reached)}
    remarks = tuple(_remark(one, acted=True) for one in seen.reached)
    if OnAnomaly.FAIL in worst and not snapshot.is_spoken_to:
        error = f"{told_to_people(worst[OnAnomaly.FAIL])}. A retry goes on; so does a setting `anomalies` that says so."
        return Fail(error, recoverable=True, remarks=remarks, seen=seen.reached)
    if OnAnomaly.PAUSE in worst and not snapshot.is_spoken_to:
        return PauseFor(worst[OnAnomaly.PAUSE], remarks, seen.reached)
    told = tuple(remark for remark in remarks if remark.note.kind in TOLD_TO_MODEL)
    if seen.half is not None:
        told = (*told, _remark(seen.half, acted=False))
    return replace(action, remarks=told, seen=seen.reached)


def _remark(anomaly: Anomaly, *, acted: bool) -> Remark:
    return Remark(told_to_model(anomaly), AnomalyNote(kind=anomaly.kind, acted=acted))


def _ending(snapshot: Snapshot) -> Complete | Fail | Rest | NextTurn:
    """What it comes to by its calls and its reply."""
    call = ending(snapshot.calls, snapshot.tools, snapshot.problems, snapshot.journal)
    if call is not None:
        if snapshot.tools[call.name].control is ControlKind.COMPLETE_TASK:
            return Complete(_words(call, "summary"))
        return Fail(_words(call, "reason"), recoverable=True)
    model = model_effect(snapshot.journal)
    stop_reason = None if model is None else model.stop_reason
    end = end_of(snapshot.reply(), stop_reason)
    counted = streak(snapshot.entries)
    over = (
        fills_it_again(snapshot.entries, snapshot.record.counters.iteration)
        or counted.cut > snapshot.bounds.max_continues
        or counted.empty > snapshot.bounds.max_empty_replies
    )
    if end is ReplyEnd.FAIL or over:
        return Fail(why_failed(stop_reason, counted, end), recoverable=True, reply=True)
    match end:
        case ReplyEnd.REST:
            text = final_text(snapshot.reply())[:SUMMARY_CHARS]
            return Complete(text) if snapshot.record.spec.mode is Mode.AUTONOMOUS else Rest(text)
        case ReplyEnd.CONTINUE:
            return NextTurn(CONTINUE_TEXT)
        case ReplyEnd.ASK_AGAIN:
            return NextTurn(nudge(stop_reason))
        case _:
            return NextTurn()


def _words(call: ToolCall, name: str) -> str:
    return str(call.params.get(name, ""))[:SUMMARY_CHARS]

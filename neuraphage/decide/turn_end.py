"""What a turn comes to whose calls are all settled. Pure."""

from __future__ import annotations

from neuraphage.decide.actions import Action, Complete, Fail, NextTurn, Rest
from neuraphage.decide.compaction import fills_it_again
from neuraphage.decide.control import ending
from neuraphage.decide.conversation import CONTINUE_TEXT, final_text
from neuraphage.decide.replies import ReplyEnd, end_of, nudge, streak, why_failed
from neuraphage.decide.snapshot import Snapshot
from neuraphage.model.effect import model_effect
from neuraphage.model.task import Mode
from neuraphage.model.tool import ControlKind, ToolCall

SUMMARY_CHARS = 10_000


def turn_end(snapshot: Snapshot) -> Action:
    """Complete, fail, rest, or go on with another turn."""
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

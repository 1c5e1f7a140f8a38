"""What a reply of the model comes to at the end of its turn: one table, for fresh and stored replies alike.

A reply without words and without a call is no end, and neither is one that stops for a call it does not hold: providers
send both. A reply that was cut off may hold a call whose input happens to be whole; the model had not come to its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from neuraphage.decide.blank import is_blank
from neuraphage.decide.conversation import tool_calls
from neuraphage.model.message import ModelReply, StopReason

_PLACEHOLDERS = frozenset({"(empty)", "(empty content)", "(empty response)", "(no content)", "[no content]"})
"""What gateways write where the model wrote nothing."""


class Stop(StrEnum):
    """Why the model stopped, as far as it matters here."""

    NATURAL = "end_turn, stop_sequence"
    TOOL_USE = "tool_use"
    CUT = "max_tokens"
    PAUSED = "pause_turn"
    REFUSED = "refusal"
    FULL = "model_context_window_exceeded"
    UNKNOWN = "any other"


class Held(StrEnum):
    """What the reply holds."""

    CALLS = "calls"
    WORDS = "words alone"
    NOTHING = "neither words nor a call"


class ReplyEnd(StrEnum):
    """What follows."""

    GO_ON = "the results go back"
    GO_ON_COUNTED = "the results go back, counted as cut"
    REST = "the task is completed, or it is the person's turn"
    CONTINUE = "asked to go on, counted as cut"
    SEND_BACK = "sent back as it is, counted as cut"
    ASK_AGAIN = "asked again, counted as empty"
    FAIL = "the task fails, a retry asks anew"


_STOPS: Mapping[str, Stop] = {
    StopReason.END_TURN.value: Stop.NATURAL,
    StopReason.STOP_SEQUENCE.value: Stop.NATURAL,
    StopReason.TOOL_USE.value: Stop.TOOL_USE,
    StopReason.MAX_TOKENS.value: Stop.CUT,
    StopReason.PAUSE_TURN.value: Stop.PAUSED,
    StopReason.REFUSAL.value: Stop.REFUSED,
    StopReason.CONTEXT_WINDOW_EXCEEDED.value: Stop.FULL,
}

ENDS: Mapping[tuple[Stop, Held], ReplyEnd] = {
    (Stop.NATURAL, Held.CALLS): ReplyEnd.GO_ON,
    (Stop.NATURAL, Held.WORDS): ReplyEnd.REST,
    (Stop.NATURAL, Held.NOTHING): ReplyEnd.ASK_AGAIN,
    (Stop.TOOL_USE, Held.CALLS): ReplyEnd.GO_ON,
    (Stop.TOOL_USE, Held.WORDS): ReplyEnd.ASK_AGAIN,
    (Stop.TOOL_USE, Held.NOTHING): ReplyEnd.ASK_AGAIN,
    (Stop.CUT, Held.CALLS): ReplyEnd.GO_ON_COUNTED,
    (Stop.CUT, Held.WORDS): ReplyEnd.CONTINUE,
    (Stop.CUT, Held.NOTHING): ReplyEnd.CONTINUE,
    (Stop.PAUSED, Held.CALLS): ReplyEnd.GO_ON_COUNTED,
    (Stop.PAUSED, Held.WORDS): ReplyEnd.SEND_BACK,
    (Stop.PAUSED, Held.NOTHING): ReplyEnd.SEND_BACK,
    **{(Stop.REFUSED, held): ReplyEnd.FAIL for held in Held},
    (Stop.FULL, Held.CALLS): ReplyEnd.GO_ON_COUNTED,  # the next request is made shorter first
    (Stop.FULL, Held.WORDS): ReplyEnd.CONTINUE,
    (Stop.FULL, Held.NOTHING): ReplyEnd.CONTINUE,
    (Stop.UNKNOWN, Held.CALLS): ReplyEnd.GO_ON_COUNTED,
    (Stop.UNKNOWN, Held.WORDS): ReplyEnd.FAIL,
    (Stop.UNKNOWN, Held.NOTHING): ReplyEnd.FAIL,
}

_COUNTED_AS_CUT = frozenset({ReplyEnd.GO_ON_COUNTED, ReplyEnd.CONTINUE, ReplyEnd.SEND_BACK})
_UNFINISHED = frozenset({Stop.CUT, Stop.FULL, Stop.UNKNOWN})
"""Stops after which the last block may be less than the model meant."""


@dataclass(frozen=True, slots=True)
class Streak:
    """Replies in a row, up to the last one, that brought nothing to an end.

    Args:
        cut: those that were cut off or paused.
        empty: those that were asked again.
    """

    cut: int
    empty: int


def stop_of(stop_reason: str | None) -> Stop:
    """Classify a stop reason."""
    return _STOPS.get(stop_reason or "", Stop.UNKNOWN)


def has_words(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a reply says anything; thoughts and placeholders of gateways say nothing to anyone."""
    said = (str(block.get("text") or "") for block in content if block.get("type") == "text")
    return any(not is_blank(text) and text.strip().casefold() not in _PLACEHOLDERS for text in said)


def end_of(content: Sequence[Mapping[str, Any]], stop_reason: str | None) -> ReplyEnd:
    """What a reply comes to when its turn ends."""
    held = Held.CALLS if tool_calls(content) else Held.WORDS if has_words(content) else Held.NOTHING
    return ENDS[stop_of(stop_reason), held]


def streak(entries: Sequence[Mapping[str, Any]]) -> Streak:
    """Count the replies in a row, up to the last one, that came to no end.

    One of whose calls none could be used counts as cut: the next one is often the same.

    Two replies of one turn have a person's retry between them, which begins the count anew.

    Args:
        entries: the stored conversation.
    """
    cut, empty, turn = 0, 0, None
    for entry in reversed(entries):
        if entry["role"] != "assistant":
            continue
        end = end_of(entry["content"], entry.get("stop_reason"))
        cut_off, asked = end in _COUNTED_AS_CUT or _is_unusable(entry), end is ReplyEnd.ASK_AGAIN
        if not (cut_off or asked) or entry.get("turn", 0) == turn:
            break
        cut, empty, turn = cut + cut_off, empty + asked, entry.get("turn", 0)
    return Streak(cut, empty)


def _is_unusable(entry: Mapping[str, Any]) -> bool:
    unusable = entry.get("unusable_calls", 0)
    return bool(unusable) and unusable == len(tool_calls(entry["content"]))


def actual_stop(reply: ModelReply, max_tokens: int) -> str:
    """Why a reply ended; one that breaks off inside a call at the length limit was cut, whatever its server says."""
    last = reply.content[-1] if reply.content else {}
    broken = last.get("type") == "tool_use" and last["id"] in reply.invalid_inputs
    if broken and stop_of(reply.stop_reason) not in _UNFINISHED and reply.usage.output_tokens >= max_tokens:
        return StopReason.MAX_TOKENS.value
    return reply.stop_reason


def unfinished_call(content: Sequence[Mapping[str, Any]], stop_reason: str | None) -> str | None:
    """The id of the call that a reply broke off in, or right behind; None when it ended otherwise.

    Such a call is never run, also when its JSON happens to be whole: half of a file, or `rm -r build` without the rest.
    """
    if stop_of(stop_reason) not in _UNFINISHED:
        return None
    for block in reversed(content):
        if block.get("type") == "tool_use":
            return str(block["id"])
        if block.get("type") != "text" or not is_blank(str(block.get("text") or "")):
            return None
    return None


def why_unfinished(name: str, stop_reason: str | None, max_tokens: int) -> str:
    """What the model is told of the call that its reply broke off in."""
    if stop_of(stop_reason) is Stop.UNKNOWN:
        return (
            f"This {name} call was not run: the reply ended with it for a reason that is not known here"
            f" ({stop_reason!r}), so it may be incomplete. Send it again."
        )
    limit = "the context window is full"
    if stop_of(stop_reason) is Stop.CUT:
        limit = f"a reply may have {max_tokens} tokens, and it was cut off there"
    return (
        f"This {name} call was not run: your reply reached the length limit inside it or right behind it ({limit})."
        " The same call again would be cut again. Send it in smaller pieces: write a long file in several steps"
        " (its first part, then one edit for each further part), and keep commands and texts short."
    )


NUDGE_EMPTY = (
    "Your last reply was empty: no words and no tool call. If the task is done, say so in a short summary."
    " If it is not, go on with the next step."
)
NUDGE_NO_CALL = (
    "Your last reply stopped for a tool call, but it held none. Make the call now."
    " If the task is done, say so in a short summary."
)
NUDGES = (NUDGE_EMPTY, NUDGE_NO_CALL)


def nudge(stop_reason: str | None) -> str:
    """The words with which the model is asked again."""
    return NUDGE_NO_CALL if stop_of(stop_reason) is Stop.TOOL_USE else NUDGE_EMPTY


def replies_markdown() -> str:
    """The table of ends as a Markdown table, for GUARANTEES.md."""
    lines = ["| the model stopped by | " + " | ".join(held.value for held in Held) + " |", "| --- | --- | --- | --- |"]
    for stop in Stop:
        lines.append(f"| {stop.value} | " + " | ".join(ENDS[stop, held].value for held in Held) + " |")
    return "\n".join(lines)


def why_failed(stop_reason: str | None, counted: Streak, end: ReplyEnd) -> str:
    """Why a reply failed its task, and what a person can do, for people.

    Args:
        stop_reason: of the reply.
        counted: the replies in a row that came to no end, with it.
        end: what it came to by itself.
    """
    match stop_of(stop_reason):
        case Stop.REFUSED:
            return (
                "The model refused to go on with this conversation (stop reason refusal). A retry asks again without"
                " the refused reply; a reset begins anew; else submit the task in other words."
            )
        case Stop.FULL:
            return (
                f"The conversation fills the model's context window, also after it was made shorter. {OVERFLOW_ADVICE}"
            )
        case Stop.UNKNOWN:
            return (
                f"The model stopped for a reason this release does not know: {stop_reason!r}. A retry asks again;"
                " a newer release may know it."
            )
        case Stop.NATURAL | Stop.TOOL_USE if end is ReplyEnd.GO_ON:
            return (
                f"The model made calls whose input cannot be used, {counted.cut} times in a row without an end. It was"
                " told what is wrong with each. A retry asks again; the conversation shows what it was told."
            )
        case Stop.CUT | Stop.PAUSED:
            advice = "Ask for less at a time, or submit with a higher max_tokens. A retry asks again."
            return f"The model stopped {counted.cut} times in a row without an end ({stop_reason}). {advice}"
        case _:
            what = "stopped for a tool call without making one" if stop_reason == StopReason.TOOL_USE else "was empty"
            return (
                f"The model's reply {what}, {counted.empty} times in a row (stop reason {stop_reason}),"
                " though it was asked again each time. Nothing is lost: a retry asks again."
            )


OVERFLOW_ADVICE = (
    "A retry asks again with the same conversation, which helps only where the model or the limit has changed; a reset"
    " begins anew with an empty conversation (what was done to files stays); a smaller task fits best."
)

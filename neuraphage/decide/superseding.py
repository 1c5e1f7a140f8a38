"""Another try at the model's last reply: which entries of a conversation it takes the place of. Pure.

Only words are superseded, and a call of complete_task: whatever a tool did stays known to the model. So a call is never
parted from its result, and none that may have had an effect is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.decide.conversation import CONTINUE_TEXT, numbered_visible, tool_calls
from neuraphage.decide.replies import NUDGES
from neuraphage.model.message import Entry
from neuraphage.model.tool import ControlKind

_OURS = frozenset({CONTINUE_TEXT, *NUDGES})
"""What we say between the parts of one reply."""


def last_reply(entries: Sequence[Mapping[str, Any]]) -> int | None:
    """Number of the first entry of the model's last reply; None where there is none that may be superseded.

    It reaches back to the last message of a person, note, or result of a tool. What we said between its parts (go on,
    your reply was empty) belongs to it, and so does a call of complete_task with its result.

    Args:
        entries: the stored conversation.
    """
    first: int | None = None
    results: set[str] = set()
    rows = numbered_visible(entries)
    for at in range(len(rows) - 1, -1, -1):
        number, entry = rows[at]
        calls = {call.tool_use_id for call in tool_calls(entry["content"])}
        if entry["role"] == "assistant":
            ends = all(call.name == ControlKind.COMPLETE_TASK for call in tool_calls(entry["content"]))
            if not ends or not results <= calls:
                break
            first, results = number, set()
        elif entry["content"] and all(block.get("type") == "tool_result" for block in entry["content"]):
            results |= {block["tool_use_id"] for block in entry["content"]}
        elif entry["content"] and not _is_ours(entry, rows[at - 1][1] if at else None):
            break
    return first


def superseding(first: int, turn: int) -> Entry:
    """The entry that hides a reply from the model. It says nothing itself.

    Args:
        first: number of the first entry that is hidden, with all behind it.
        turn: that is to be taken next.
    """
    return Entry(role="user", content=[], turn=turn, supersedes=first)


def superseded(entries: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """Numbers of the entries that the model is not shown any more.

    Args:
        entries: the stored conversation, from its beginning.
    """
    return frozenset(range(len(entries))) - {number for number, _ in numbered_visible(entries)}


def _is_ours(entry: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Whether an entry of the user's role was said by us, between two parts of a reply."""
    if before is None or before["role"] != "assistant" or before.get("turn") != entry.get("turn"):
        return False
    return [block.get("text") for block in entry["content"]] in [[text] for text in _OURS]

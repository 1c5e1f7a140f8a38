"""What became of a prompt, by the history of its task: for who answers late, twice, or beside others. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from neuraphage.decide.asking import LEAST_ID_CHARS
from neuraphage.decide.policy import TIMEOUT
from neuraphage.model.event import Event, EventKind

_SAYS_IT_IN_WORDS = frozenset({EventKind.ANSWER_TAKEN, EventKind.PERMISSION_GRANTED, EventKind.PERMISSION_DENIED})


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a prompt.

    Args:
        answer: what was answered, perhaps shortened, its first word until a turn has taken it; None where nobody has
            answered, or it is not known yet.
        by: `user` or `timeout`; None where nobody has answered.
        who: the name of the person, as their machine knows it; None where it is not known.
        at_ms: when, server time.
    """

    answer: str | None = None
    by: str | None = None
    who: str | None = None
    at_ms: int = 0

    def __str__(self) -> str:
        """A sentence without its end, for people."""
        if self.by is None:
            return "it was asked, and closed before anybody had answered: the task failed, ended or began anew"
        at = datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        if self.by == TIMEOUT:
            return f"nobody had answered it in time, so it counted as {self.answer or 'no'} at {at}"
        return f"{self.who or self.by} answered {self.answer or 'it'} at {at}"


def fate_of(events: Iterable[Event], part: str) -> Fate | None:
    """What became of a prompt; None where it is still open as far as the history tells, or was never asked.

    Args:
        events: of its task, oldest first.
        part: its id, or the beginning of it.
    """
    fate: Fate | None = None
    for event in events:
        data = event.data
        if event.kind == EventKind.USER_INPUT_NEEDED:
            asked = [prompt.get("id") for prompt in data.get("prompts") or ()]
            fate = Fate() if fate is None and any(_is_meant(one, part) for one in asked) else fate
        elif not _is_meant(data.get("prompt"), part):
            continue
        elif event.kind == EventKind.ANSWER_RECEIVED:
            fate = Fate(data.get("answer"), str(data.get("by", "user")), data.get("who"), event.at_ms or 0)
        elif event.kind == EventKind.REPLY_SUPERSEDED:
            fate = Fate("/retry", str(data.get("by", "user")), data.get("who"), event.at_ms or 0)
        elif event.kind in _SAYS_IT_IN_WORDS and fate is not None and data.get("answer"):
            fate = replace(fate, answer=str(data["answer"]))
    return fate


def _is_meant(prompt_id: object, part: str) -> bool:
    return prompt_id == part or (len(part) >= LEAST_ID_CHARS and str(prompt_id).startswith(part))

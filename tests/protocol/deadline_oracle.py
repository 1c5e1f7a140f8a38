"""What must hold of prompts, their deadlines and what is remembered of answers.

Which prompts are open is taken from the conversation, whose entries say what wrote them, and who has answered from what
people and sweeps were told. Neither reads what the scripts keep of prompts: fields of the record, and an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

TALKS = ":conversation"
TIMED_ID = "timed-"
"""Prompts of these ids are opened once; others may be asked again under their id."""


@dataclass(frozen=True)
class Asked:
    """What is known of the prompts of a task; a value, since it goes back with the server that loses its tail.

    Args:
        open: prompts that wait for an answer, or whose answer no turn has taken.
        due_ms: of those that were opened with a deadline, by the server's clock as it is now.
        answered: prompt -> who was told that their answer is taken, `user` or `timeout`.
        past: entries whose prompts went with an end of the task.
        past_talk: entries whose conversations went with another try at a reply.
    """

    open: frozenset[str] = frozenset()
    due_ms: Mapping[str, int] = field(default_factory=dict)
    answered: Mapping[str, str] = field(default_factory=dict)
    past: int = 0
    past_talk: int = 0

    def waits_for(self, prompt_id: str) -> bool:
        """Whether the first answer is still to come."""
        return prompt_id in self.open and prompt_id not in self.answered

    def by(self, prompt_id: str, who: str) -> Asked:
        """Somebody was told that their answer is taken."""
        return replace(self, answered={**self.answered, prompt_id: who})

    def later(self, by_ms: int) -> Asked:
        """The clock has gone on."""
        return replace(self, due_ms={prompt: due_ms - by_ms for prompt, due_ms in self.due_ms.items()})

    def timed(self) -> dict[str, int]:
        """Prompts whose deadline is still to count, with their times."""
        return {prompt: due_ms for prompt, due_ms in self.due_ms.items() if self.waits_for(prompt)}

    def due(self, now_ms: int) -> set[str]:
        """Prompts whose time is over, and that nobody has answered."""
        return {prompt for prompt, due_ms in self.timed().items() if due_ms <= now_ms}

    def after(self, entries: list[dict[str, Any]], *, is_over: bool) -> Asked:
        """What is known once the conversation has these entries."""
        count = len(entries)
        past, past_talk = (0 if start > count else start for start in (self.past, self.past_talk))
        if is_over:
            past = count
        known: dict[str, int | None] = {}
        for at, entry in enumerate(entries):
            fresh = {prompt: due for prompt, due in entry["opened"].items() if at >= past}
            known |= {prompt: due for prompt, due in fresh.items() if TALKS not in prompt or at >= past_talk}
            for prompt in entry["closed"]:
                known.pop(prompt, None)
        due_ms = {prompt: self.due_ms.get(prompt, due) for prompt, due in known.items() if due is not None}
        answered = {p: who for p, who in self.answered.items() if p in known or p.startswith(TIMED_ID)}
        return replace(self, open=frozenset(known), due_ms=due_ms, answered=answered, past=past, past_talk=past_talk)


def remembered(entries: Iterable[dict[str, Any]], grants: Mapping[str, str]) -> dict[str, str]:
    """What the task remembers: what it did, with what the entries say. A reset takes entries, and no answer."""
    found = dict(grants)
    for entry in entries:
        found |= entry["grants"]
    return found


def faults(
    asked: Asked,
    grants: Mapping[str, str],
    fields: Mapping[str, str],
    index: Mapping[str, int],
    told: list[tuple[str, str]],
) -> list[str]:
    """Every breach found, one sentence each.

    Args:
        asked: what is known of prompts.
        grants: what the task is to remember.
        fields: of the stored record.
        index: prompt -> time, of the stored deadlines.
        told: (prompt, who) of each answer that the history tells of.
    """
    found = []
    stored = {kind: {name[2:] for name in fields if name.startswith(f"{kind}:")} for kind in "pa"}
    if stored["p"] != asked.open:
        found.append(f"open are {sorted(stored['p'])}, asked were {sorted(asked.open)}")
    taken = {prompt for prompt in asked.answered if prompt in asked.open}
    if stored["a"] != taken:
        found.append(f"answered are {sorted(stored['a'])}, told so were those who answered {sorted(taken)}")
    if dict(index) != asked.timed():
        found.append(f"deadlines are {dict(index)}, open with one are {asked.timed()}")
    kept = {name[2:]: said for name, said in fields.items() if name.startswith("g:")}
    if kept != grants:
        found.append(f"remembered is {kept}, said was {dict(grants)}")
    of_timed = sorted((prompt, who) for prompt, who in told if prompt.startswith(TIMED_ID))
    right = sorted((prompt, who) for prompt, who in asked.answered.items() if prompt.startswith(TIMED_ID))
    if of_timed != right:
        found.append(f"the history tells of the answers {of_timed}, taken were {right}")
    return found

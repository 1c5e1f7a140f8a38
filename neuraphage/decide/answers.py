"""What an answer to a permission prompt means: `yes`, `no: WORDS`, `always: PATTERN`, `edit: {JSON}`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from neuraphage.decide.hashing import canonical
from neuraphage.decide.rules.reading import read_allowed, read_rule
from neuraphage.decide.tool_input import InputFault, parse_input
from neuraphage.errors import BadInput
from neuraphage.model.effect import Permission
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.rule import Rule, RuleSource

MOST_REMEMBERED = 100
"""Answers that a task remembers."""
NO_ANSWER = "this is no answer to a permission"
FORMS = (
    "`no: WORDS` tells the model why, `always: PATTERN` allows such calls of this task, `always here: PATTERN` of this"
    " directory, `always me: PATTERN` all of yours, `edit: {JSON}` changes parameters and allows the call"
)


class Scope(StrEnum):
    """How long an answer holds."""

    ONCE = "once"
    """For this very call."""
    TASK = "task"
    """For the rest of the task."""
    HERE = "here"
    """For every task that works in this directory or below."""
    ME = "me"
    """For every task."""


_WORDS = {
    "yes": (Permission.GRANTED, Scope.ONCE),
    "y": (Permission.GRANTED, Scope.ONCE),
    "no": (Permission.DENIED, Scope.ONCE),
    "n": (Permission.DENIED, Scope.ONCE),
    "always": (Permission.GRANTED, Scope.TASK),
    "a": (Permission.GRANTED, Scope.TASK),
    "never": (Permission.DENIED, Scope.TASK),
}
_ALLOWING = {Scope.ONCE: "yes", Scope.TASK: "always", Scope.HERE: "always here", Scope.ME: "always me"}
_WORDS |= {"always here": (Permission.GRANTED, Scope.HERE), "always me": (Permission.GRANTED, Scope.ME)}
_SHORT = {"y": "yes", "n": "no", "a": "always"}


_SCOPES = {"here": Scope.HERE, "me": Scope.ME}


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """An answer, understood.

    Args:
        permission: what it says of the call.
        scope: how long it holds.
        pattern: which calls of the tool it holds for; None for all that its scope has.
        words: what the model is told with a no.
        changes: parameters that take the place of the call's own, by name; null takes one away.
    """

    permission: Permission
    scope: Scope = Scope.ONCE
    pattern: str | None = None
    words: str = ""
    changes: Mapping[str, Any] | None = None

    def subject(self, tool: str) -> str:
        """The calls that are remembered, as a rule names them."""
        return tool if self.pattern is None else f"{tool}: {self.pattern}"

    def rule(self, tool: str) -> Rule | None:
        """The rule that a person makes with it, beyond the task; None for most answers."""
        return read_rule(f"allow {self.subject(tool)}", RuleSource.USER) if self.scope in _SCOPES.values() else None

    def __str__(self) -> str:
        """The answer as it is sent, which is read as the same one again."""
        if self.permission is Permission.DENIED:
            word = "no" if self.scope is Scope.ONCE else "never"
            return f"{word}: {self.words}" if self.words else word
        if self.changes is not None:
            return f"edit: {canonical(self.changes).decode()}"
        word = _ALLOWING[self.scope]
        return word if self.pattern is None else f"{word}: {self.pattern}"


def read_answer(text: str, tool: str | None) -> PermissionAnswer:
    """Read an answer to a permission prompt.

    Args:
        text: as it was typed or sent.
        tool: that asks.

    Raises:
        BadInput: it is none.
    """
    plain = _WORDS.get(" ".join(text.lower().split()))
    if plain is not None:
        return PermissionAnswer(*plain)
    head, colon, rest = (part.strip() for part in text.partition(":"))
    word, _, named = (part.strip() for part in head.partition(" "))
    word = _SHORT.get(word.lower(), word.lower())
    scope = _SCOPES.get(named.lower())
    if head.lower() == "edit":
        return PermissionAnswer(Permission.GRANTED, changes=_read_changes(rest))
    if not colon or not rest or (named and named != tool and scope is None) or word not in ("no", "never", "always"):
        raise BadInput(NO_ANSWER)
    if word != "always":
        if named:
            raise BadInput(NO_ANSWER)
        return PermissionAnswer(*_WORDS[word], words=rest)
    pattern = rest.removeprefix(f"{tool}:").strip()
    read_allowed(f"{tool}: {pattern}")
    return PermissionAnswer(Permission.GRANTED, scope or Scope.TASK, pattern)


def _read_changes(text: str) -> dict[str, Any]:
    found = parse_input(text)
    if isinstance(found, InputFault):
        raise BadInput(f"the edit {found.value}")
    if not found:
        raise BadInput("the edit changes nothing; answer yes")
    return found


def refuse_too_many(text: str, tool: str | None, grants: Mapping[str, str]) -> None:
    """Refuse an answer that a task could not remember.

    Args:
        text: of the answer.
        tool: that asks.
        grants: what the task remembers.

    Raises:
        BadInput: it remembers as many as it may.
    """
    answer = read_answer(text, tool)
    if answer.scope is not Scope.ONCE and len(grants) >= MOST_REMEMBERED and answer.subject(tool or "") not in grants:
        raise BadInput(
            f"the task remembers {len(grants)} answers already; answer yes or no, or make a rule of your own"
        )


def plain_word(text: str) -> str:
    """The word that an answer begins with, empty for others: it can be kept before anybody has looked for secrets."""
    word = " ".join(text.partition(":")[0].lower().split())
    return word if word in _WORDS or word == "edit" else ""


def taken_answer(text: str, tool: str) -> PermissionAnswer:
    """What an answer that has arrived means: one that cannot be read is a no, never a yes."""
    try:
        return read_answer(text, tool)
    except BadInput:
        return PermissionAnswer(Permission.DENIED)


def allows(prompt: Prompt, text: str) -> bool:
    """Whether this answer to this prompt lets its call run."""
    try:
        answer = read_answer(text, prompt.tool)
    except BadInput:
        return False
    return prompt.kind is PromptKind.PERMISSION and answer.permission is Permission.GRANTED

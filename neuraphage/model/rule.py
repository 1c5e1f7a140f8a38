"""A rule about calls of tools: what a person has decided before any of them was made."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen

SANDBOXED = "@sandboxed"
"""A pattern: calls whose command line runs in a sandbox that reaches no network."""


class RuleEffect(StrEnum):
    """What comes of a call that a rule is about. The first one here beats those after it."""

    DENY = "deny"
    ASK = "ask"
    OUTSIDE = "outside"
    """A person is asked, and the command line runs outside of the sandbox."""
    ALLOW = "allow"


class RuleSource(StrEnum):
    """Who has made a rule."""

    SETTINGS = "settings"
    TASK = "task"
    USER = "user"
    """A person, by a command or by an answer: in the file of their rules."""
    PROJECT = "project"
    """Whoever made the directory that a task works in; a person has trusted it."""
    ANSWER = "answer"
    """A person, by an answer that the task remembers."""
    BUILT_IN = "built-in"
    """Nobody: it holds everywhere."""

    @property
    def owner(self) -> str:
        """Whose rule it is, as people write it behind `of`."""
        return _OWNERS[self]


_OWNERS = {
    RuleSource.SETTINGS: "the settings",
    RuleSource.TASK: "the task",
    RuleSource.USER: "the user's file of rules",
    RuleSource.PROJECT: "the project's file",
    RuleSource.ANSWER: "a person's answer",
    RuleSource.BUILT_IN: "this program",
}


class Rule(Frozen):
    """One rule.

    Args:
        effect: what comes of such a call.
        tool: name of the tool; `*` for every one.
        pattern: which of its calls: words of a command (`git push *`), or a path below the working directory
            (`docs/**`), or SANDBOXED. None for all.
        source: who has made it.
    """

    effect: RuleEffect
    tool: str
    pattern: str | None = None
    source: RuleSource = RuleSource.SETTINGS

    @property
    def subject(self) -> str:
        """The calls that it is about, as people write them."""
        return self.tool if self.pattern is None else f"{self.tool}: {self.pattern}"

    def __str__(self) -> str:
        return f"{self.effect.value} {self.subject}"

"""The rules that a person has made or trusted by commands and answers, wherever they are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from neuraphage.model.rule import Rule


class OwnRules(Protocol):
    """Rules of the person who runs this process: their own, or those of projects that they trust."""

    def of(self, working_dir: str | None) -> tuple[Rule, ...]:
        """Those that hold for a task, as they are now.

        Args:
            working_dir: of the task.
        """
        ...


AddRule = Callable[[Rule, str | None], bool]
"""Keeps one more rule of the person who answers, for a directory and what is below it, or for all (None).

Returns whether it was not kept yet; raises BadInput or SettingsError where it cannot be kept.
"""

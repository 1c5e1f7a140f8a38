"""What a search that found nothing says: another dialect, or what would fit but for what cannot be seen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from neuraphage.ports import Interrupt
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.glob_dialects import regex_in_glob_hint
from neuraphage.tools.grep_dialects import dialect_hint
from neuraphage.tools.search_process import run_search

MAX_LOOK_S = 5.0
"""Longest that a second look may take, within the time limit of the call; then nothing is said."""


class SecondLook:
    """Notes for a search without a match. Made before the search, since both share one time limit."""

    def __init__(self, timeout_s: float, interrupt: Interrupt) -> None:
        self._until_s = time.monotonic() + timeout_s
        self._interrupt = interrupt

    def at_names(self, request: Mapping[str, Any], glob: str) -> list[str]:
        """Notes for a glob as it was given; the request is that of the search."""
        found = self._search({**request, "kind": "near_glob"}).get("near") or []
        names = [f"{name!a} differs by {what} alone" for name, what in found]
        hint = regex_in_glob_hint(glob)
        return [f"[nearly: {'; '.join(names)}]"] * bool(names) + ([hint] if hint else [])

    def at_lines(self, request: Mapping[str, Any], fitting: int, glob: str | None) -> list[str]:
        """Notes for a grep.

        Args:
            request: that of the search.
            fitting: how many files were to be searched.
            glob: the filter of names, as it was given.
        """
        if glob is not None and not fitting:
            return [
                f"[none of the files that are not ignored fits the glob {glob!a}, so nothing was searched]",
                *self.at_names({**request, "pattern": request["glob"]}, glob),
            ]
        hint = dialect_hint(request["pattern"])
        found = self._search({**request, "kind": "near_grep"}).get("near")
        if not found:
            return [hint] if hint else []
        path, number, what, spelling = found
        advice = "Set case_insensitive" if what.startswith("upper") else "Read that line, and search for a part of it"
        near = f"line {number} of {path!a} would match but for {what}. "
        return [
            near[0].upper() + near[1:] + (f"This finds it, the spelling is: {spelling}" if spelling else f"{advice}.")
        ]

    def _search(self, request: Mapping[str, Any]) -> dict[str, Any]:
        left_s = min(MAX_LOOK_S, self._until_s - time.monotonic())
        if left_s <= 0:
            return {}
        try:
            return run_search(request, left_s, self._interrupt)
        except ToolCallError:
            return {}  # it took too long: the search itself has its answer all the same

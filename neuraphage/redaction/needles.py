"""Which of many short texts stand in a text, in one pass: hundreds of searches would cost more than a turn."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

import ahocorasick

_NEEDLE = itemgetter(1)
_SEARCHED_CHARS = 3
"""Shorter needles stand in nearly every text, very often: each is searched by itself and ends at its first place."""

_MOST_USED = "etaoinsrhldcumfpgwybvkxjqz"
"""The letters, the most frequent first."""


class Needles:
    """A fixed set of texts to look for. The automaton is built at the first look.

    Args:
        needles: texts, in lower case.
    """

    def __init__(self, needles: Iterable[str]) -> None:
        every = frozenset(needles)
        self._short = tuple(sorted(needle for needle in every if len(needle) < _SEARCHED_CHARS))
        self._long = tuple(sorted(every.difference(self._short)))
        self._automaton: ahocorasick.Automaton | None = None

    def found_in(self, folded: str) -> set[str]:
        """The needles that stand anywhere in a text, which is in lower case. Linear in the text."""
        found = {needle for needle in self._short if needle in folded}
        if self._long:
            found.update(map(_NEEDLE, self._ready().iter(folded)))
        return found

    def _ready(self) -> ahocorasick.Automaton:
        if self._automaton is None:
            automaton = ahocorasick.Automaton()
            # Where several may follow, the automaton looks at them one by one, in the order in which they came.
            for needle in sorted(self._long, key=_by_use):
                automaton.add_word(needle, needle)
            automaton.make_automaton()
            self._automaton = automaton
        return self._automaton


def _by_use(needle: str) -> list[int]:
    return [_MOST_USED.index(char) if char in _MOST_USED else len(_MOST_USED) for char in needle]

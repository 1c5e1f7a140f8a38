"""The constants that scripts share with Python (statuses, kinds, places, moves), written out for Lua."""

from __future__ import annotations

import re

from neuraphage.decide.lifecycle import MOVES
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.effect import MarkerName
from neuraphage.model.event import EventKind
from neuraphage.model.place import PLACES_OF, Place
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import TERMINAL, Status

_ENDS = tuple(f"Task{status.value}" for status in TERMINAL)
"""Kinds of events that a script makes of a status: `EVENT['Task' .. status]`."""


def head(text: str) -> str:
    """The Lua text that binds those constants that a script's text uses; a table that is never made costs nothing.

    Raises:
        ValueError: the text uses a constant that there is not.
    """
    ended = ", ".join(f"{status.value} = true" for status in Status if status in TERMINAL)
    lines = [
        f"local SCHEMA, TERMINAL = {SCHEMA_VERSION}, {{ {ended} }}\n"
        if re.search(r"\b(SCHEMA|TERMINAL)\b", text)
        else "",
        _table("EVENT", {kind.value: f"'{kind.value}'" for kind in EventKind}, text, _ENDS),
        _table("PLACE", {place.value: f"'{place.value}'" for place in Place}, text),
        _table("PROMPT", {kind.value: f"'{kind.value}'" for kind in PromptKind}, text),
        _table("MARKER", {name.value: f"'{name.value}'" for name in MarkerName}, text),
    ]
    if re.search(r"\bMOVES\b", text):
        moves = (f"{a.value}>{b.value}" for a, targets in MOVES.items() for b in targets)
        lines.append(f"local MOVES = ' {' '.join(moves)} '\n")  # one text: a table would be made anew at each call
    if re.search(r"\bPLACES_OF\b", text):
        rows = (f"{a.value} = {{ {', '.join(repr(p.value) for p in places)} }}" for a, places in PLACES_OF.items())
        lines.append(f"local PLACES_OF = {{ {', '.join(rows)} }}\n")
    return "".join(lines)


def _table(name: str, words: dict[str, str], text: str, always: tuple[str, ...] = ()) -> str:
    used = set(re.findall(rf"\b{name}\.(\w+)", text))
    if unknown := used - words.keys():
        raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
    used |= {word for word in always if re.search(rf"\b{name}\[", text)}
    return f"local {name} = {{ {', '.join(f'{word} = {words[word]}' for word in sorted(used))} }}\n" if used else ""

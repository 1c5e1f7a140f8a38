"""All that a call will do, for a person who decides about it: the one text that every surface shows. Pure."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuraphage.decide.known_files import diff_of
from neuraphage.decide.seen_text import TAB, Line, spelled_lines
from neuraphage.model.tool_traits import PartOfFile, ToolTraits, WholeFile

NO_FILE = "(the file does not exist yet)"
_DIM = "dim"


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that a person is asked about.

    Args:
        tool: its name.
        params: as stored.
        traits: of the tool.
        before: for a change: content of the file before it, if known.
        is_absent: for a change: whether it is known that there is no such file.
        places: parameters that are paths, with the place where each leads.
    """

    tool: str
    params: Mapping[str, Any]
    traits: ToolTraits
    before: str | None = None
    is_absent: bool = False
    places: Mapping[str, str] = field(default_factory=dict)


def call_lines(call: AskedCall) -> list[Line]:
    """Everything that a call will do, nothing cut; every character of it can be seen."""
    traits, params = call.traits, call.params
    if traits.command is not None:
        first, *more = str(params.get(traits.command, "")).split("\n")
        lines, shown = [(f"$ {first}", ""), *((f"  {line}", "") for line in more)], {traits.command}
    elif traits.change is not None:
        lines = [
            (f"> {call.tool} {params.get(traits.change.path, '')}", ""),
            *_places(call),
            *_change(traits.change, call),
        ]
        shown = set(traits.change.model_dump().values())
    else:
        text = json.dumps(dict(params), indent=2, ensure_ascii=False, default=str)
        lines = [(f"> {call.tool}", ""), *((line, "") for line in (text.split("\n") if params else ()))]
        lines, shown = [*lines, *_places(call)], set(params)
    others = [
        (f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}", _DIM)
        for name, value in params.items()
        if name not in shown
    ]
    return spelled_lines([*lines, *others])


def path_parameters(traits: ToolTraits, params: Mapping[str, Any]) -> dict[str, str]:
    """Parameters of a call that are paths, with what was given for each."""
    change = traits.change
    names = dict.fromkeys((*traits.writes, *traits.reads, *((change.path,) if change else ())))
    return {name: value for name in names if isinstance(value := params.get(name), str)}


def _places(call: AskedCall) -> list[Line]:
    return [(f"({name} is {place})", _DIM) for name, place in call.places.items()]


def _change(change: WholeFile | PartOfFile, call: AskedCall) -> list[Line]:
    rows = diff_of(change, call.params, call.before)
    notes = ["(nothing changes)"] if not rows and not call.is_absent else []
    if isinstance(change, PartOfFile) and change.every is not None and call.params.get(change.every):
        notes.append("(in every place of the file where it stands)")
    if call.before is None:
        notes.append(NO_FILE if call.is_absent else "(the file as it is now is not known here)")
    if _looks_alike(rows):
        notes.append("(lines that look alike differ in blanks, tabs, or how a character is written)")
    return [*rows, *((note, _DIM) for note in notes)]


def _looks_alike(rows: Iterable[Line]) -> bool:
    """Whether a line is taken away and put there that a person cannot tell apart."""
    taken: dict[str, str] = {}
    put: dict[str, str] = {}
    for text, _ in rows:
        if text[:1] in ("-", "+"):
            seen = unicodedata.normalize("NFC", text[1:].replace("\t", TAB).rstrip())
            (taken if text[0] == "-" else put)[seen] = text[1:]
    return any(seen in put and put[seen] != line for seen, line in taken.items())

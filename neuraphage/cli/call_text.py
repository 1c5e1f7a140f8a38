"""How a tool call and its result are shown to people. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.cli.traits import traits_of
from neuraphage.decide.known_files import diff_of
from neuraphage.decide.seen_text import Line
from neuraphage.model.tool_traits import ResultView

MAX_TITLE_CHARS = 300
DIFF_LINES = 24
OUTPUT_LINES = 8
ERROR_LINES = 4
_DIM = "dim"


def title(tool: str, params: Mapping[str, Any]) -> str:
    """One line that names a call: the tool and what it works on."""
    traits = traits_of(tool)
    if traits.command is not None:
        first, *more = str(params.get(traits.command, "")).split("\n")
        return _short(f"$ {first}") + (f" (and {_count(more, 'more line')})" if more else "")
    if traits.subject is None:
        words = [", ".join(f"{name}={_plain(value)}" for name, value in params.items())]
    else:
        words = [_plain(params.get(name, "")) for name in traits.subject]
        place = params.get(traits.within, ".") if traits.within else "."
        words += [f"in {_plain(place)}"] if place != "." else []
    return _short(" ".join([f"> {tool}", *words]).rstrip())


def body(tool: str, params: Mapping[str, Any], before: str | None) -> list[Line]:
    """The beginning of what stands below the title: the diff of a change, the rest of a command; else nothing.

    Args:
        tool: its name.
        params: of the call.
        before: for a change: content of the file before it, if known.
    """
    traits = traits_of(tool)
    if traits.change is not None:
        return shortened(diff_of(traits.change, params, before), DIFF_LINES) or [("(nothing changes)", _DIM)]
    if traits.command is not None:
        return shortened([(line, "") for line in str(params.get(traits.command, "")).split("\n")[1:]], DIFF_LINES)
    return []


def outcome(tool: str, text: str, *, is_error: bool) -> tuple[str, list[Line]]:
    """What a call came to.

    Args:
        tool: its name.
        text: its result, as the model gets it.
        is_error: whether that tells of an error.

    Returns:
        A few words to stand behind the title, and lines to stand below it; each may be empty.
    """
    lines = text.rstrip("\n").split("\n")
    view = traits_of(tool).result
    if view is ResultView.END:
        style = "red" if is_error else _DIM
        shown = [(line, _DIM) for line in lines[:-1]]
        return "", [*last(shown, OUTPUT_LINES), (lines[-1], style)]
    if is_error:
        return "", shortened([(line, "red") for line in lines], ERROR_LINES)
    match view:
        case ResultView.NOTHING:
            return "", []
        case ResultView.LINES | ResultView.ENTRIES:
            noun = "entry" if view is ResultView.ENTRIES else "line"
            only_note = len(lines) == 1 and lines[0].startswith("[")
            return lines[0].strip("[]") if only_note else _count(lines, noun), []
        case _:
            return "", shortened([(line, _DIM) for line in lines], ERROR_LINES)


def shortened(lines: Sequence[Line], limit: int) -> list[Line]:
    """The first lines, and how many are left out."""
    if len(lines) <= limit + 1:  # a note in place of one line would save nothing
        return list(lines)
    return [*lines[:limit], (f"... {_count(lines[limit:], 'more line')}", _DIM)]


def last(lines: Sequence[Line], limit: int) -> list[Line]:
    """The last lines, and how many are left out."""
    if len(lines) <= limit + 1:
        return list(lines)
    return [(f"... {_count(lines[:-limit], 'line')} before", _DIM), *lines[-limit:]]


def _count(lines: Sequence[Any], noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{len(lines)} {noun if len(lines) == 1 else plural}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str) -> str:
    line = " ".join(text.split("\n"))
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 4] + " ..."

"""The constants that scripts share with Python (statuses, kinds, places, moves), written out for Lua.

A word of an enum stands in a script as `PLACE.outbox`, and is put into its text as `'outbox'`: it has one home, and
costs nothing, where a table would be made anew at each call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from neuraphage.decide.lifecycle import MOVES
from neuraphage.model.admission import ALL_TASKS, USUAL_PRIORITY
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.dependency import DependencyState, OnFailure
from neuraphage.model.effect import MODEL_ENTRY, EffectKind, EffectState, MarkerName
from neuraphage.model.event import Cause, EventKind
from neuraphage.model.lock import LockMode, LockState
from neuraphage.model.money import FAMILY, OTHERS, SPENT_FIELDS, Pool
from neuraphage.model.place import PLACES_OF, Place
from neuraphage.model.prompt import PromptKind
from neuraphage.model.recovery import Evidence
from neuraphage.model.repairing import RepairMode
from neuraphage.model.schedule import Overlap, ScheduleChange
from neuraphage.model.subtask import ChildChange, ChildWait, OnParentEnd
from neuraphage.model.task import TERMINAL, StartedReason, Status
from neuraphage.ports import FinishTo, SignalKind, SuspendTo
from neuraphage.setting_values import RecoveryPolicy

WORDS: Mapping[str, type[StrEnum]] = {
    "STATUS": Status,
    "PLACE": Place,
    "REASON": StartedReason,
    "EVIDENCE": Evidence,
    "FINISH_TO": FinishTo,
    "SUSPEND_TO": SuspendTo,
    "SIGNAL": SignalKind,
    "EFFECT": EffectState,
    "EFFECT_KIND": EffectKind,
    "LOCK": LockState,
    "LOCK_MODE": LockMode,
    "EVENT": EventKind,
    "CAUSE": Cause,
    "PROMPT": PromptKind,
    "MARKER": MarkerName,
    "CAPACITY": CapacityReason,
    "POLICY": RecoveryPolicy,
    "REPAIR_MODE": RepairMode,
    "POOL": Pool,
    "EDGE": DependencyState,
    "ON_FAILURE": OnFailure,
    "WAIT": ChildWait,
    "CHILD": ChildChange,
    "PARENT_END": OnParentEnd,
    "SCHEDULING": ScheduleChange,
    "OVERLAP": Overlap,
}
"""Enums by what Lua calls them; a word of one follows a dot, by its value."""
_WORD = re.compile(rf"\b({'|'.join(WORDS)})\.(\w+)|\b(MODEL_ENTRY|OTHERS|FAMILY|PLACES|ALL|PRIORITY)\b")
_ENDS = tuple(EventKind(f"Task{status.value}") for status in TERMINAL)
"""Kinds of events that a script makes of a status: `EVENT['Task' .. status]`."""


def spelled_out(text: str) -> str:
    """The text of a script with its words in place, four constants, and PLACES: the key of each place by its name.

    Raises:
        ValueError: the text uses a word that there is not.
    """
    return _WORD.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    name, word, other = found.groups()
    if other == "MODEL_ENTRY":
        return f"'{MODEL_ENTRY}'"
    constants = {"OTHERS": OTHERS, "FAMILY": FAMILY, "ALL": ALL_TASKS, "PRIORITY": USUAL_PRIORITY}
    if other in constants:
        return f"'{constants[other]}'"
    if other == "PLACES":
        return f"{{ {', '.join(f'{place.value} = {place.value.upper()}' for place in Place)} }}"
    try:
        return f"'{WORDS[name](word).value}'"
    except ValueError:
        raise ValueError(f"{name} has no {word}") from None


def head(text: str) -> str:
    """The Lua text that binds those constants that a script's text uses; a table that is never made costs nothing."""
    lines = []
    if re.search(r"\b(SCHEMA|TERMINAL)\b", text):
        ended = ", ".join(f"{status.value} = true" for status in Status if status in TERMINAL)
        lines.append(f"local SCHEMA, TERMINAL = {SCHEMA_VERSION}, {{ {ended} }}\n")
    if re.search(r"\bEVENT\[", text):
        lines.append(f"local EVENT = {{ {', '.join(f'{kind.value} = {kind.value!r}' for kind in sorted(_ENDS))} }}\n")
    if re.search(r"\bMOVES\b", text):
        moves = (f"{a.value}>{b.value}" for a, targets in MOVES.items() for b in targets)
        lines.append(f"local MOVES = ' {' '.join(moves)} '\n")  # one text: a table would be made anew at each call
    if re.search(r"\bCOUNTED\b", text):
        lines.append(f"local COUNTED = {{ {', '.join(repr(name) for name in SPENT_FIELDS)} }}\n")
    if re.search(r"\bPLACES_OF\b", text):
        rows = (f"{a.value} = {{ {', '.join(repr(p.value) for p in places)} }}" for a, places in PLACES_OF.items())
        lines.append(f"local PLACES_OF = {{ {', '.join(rows)} }}\n")
    return "".join(lines)

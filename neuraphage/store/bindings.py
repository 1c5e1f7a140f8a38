"""What every script is given: its keys, its arguments and its shared parts, each named once.

Python passes them by these names, and the head that is put before a script's text binds the same names in Lua: keys as
locals, arguments as fields of `given`. So a new key or argument is a new name here, and shifts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuraphage.store import uses
from neuraphage.store.keys import STATUSES, TASK_KEY_NAMES
from neuraphage.store.uses import Asks

PRELUDE, ACCESS, CHANGES, SIGNALS = "prelude", "access", "changes", "signals"
FINISHING, CLAIMING, GAUGE, HEARD = "finishing", "claiming", "gauge", "heard"
MONEY, WAKING, SLOTS, EDGES, LOCKS = "money", "waking", "slots", "edges", "locks"
CHILDREN, CREATING, SPAWNING, SLOT_CHECKS = "children", "creating", "spawning", "slot_checks"
TREE_TURNS = "tree_turns"
WORK = (WAKING, SLOTS)
"""What scripts are made of that put a task to work: others may have to wait for that."""
GRAPH = (*WORK, EDGES, CHILDREN, LOCKS)
"""What scripts are made of that end or stop a task: others may wait for that."""
LIMITS = ("#events_max", "#republish_ms", "#exec_ms", "#conversation_ms")
"""Most events kept of a task, when an unclaimed message is sent again, and how long an ended task's keys are kept."""
CHANGE_GROUPS = {
    "entries": 1,
    "journal": 2,
    "add": 2,
    "consumed": 1,
    "opened": 3,
    "closed": 1,
    "grants": 2,
    "events": 2,
    "model": 3,
    "spent": 3,
    "children": 5,
}
"""What a write of a turn may change, in the order in which it is passed, with the arguments an item takes."""
_POOLS = ("pools", "#ledger_days", "#ledger_rows")
"""Limits of pools by the settings, as JSON; days that the ledger keeps, and its most rows."""
_CHANGE = ("fence", "claim", "#token", "outcome", "marker", "reserve", *_POOLS)
_ALL_EVENTS = "#namespace_events_max"
"""About how many events the stream of the namespace keeps."""
_SIGNAL = ("key", "by", "#signals_max", *LIMITS, _ALL_EVENTS)
_MOST = ("max_turns", "max_cost_microusd", "max_running_ms")
_WINDOWS = ("task", "#requests", "#input_tokens", "#output_tokens", "#window_ms", "#keep_ms")
_LIMITED = (*_WINDOWS, "ticket", "#looks_max")
_HEARD = ("gate", "heard", "#kept_ms")
_FINISH = (*LIMITS, "to", "detail", "iteration")


@dataclass(frozen=True, slots=True)
class Binding:
    """What one script is given.

    Args:
        name: its file, without `.lua`; also what error messages call it, where `called` does not.
        arguments: their names in order; `#` before one: a number.
        parts: files that are put before it.
        keys: further keys; those of a task come first, where it is about one.
        rest: name of the items that follow the arguments, if there may be any.
        is_about_task: whether it is given the keys of one task.
        asks: for what it must be allowed before it begins.
        asks_more: for what before it does more than that; None where it never does.
        repairs: begins also where a key has another type than it should have, since it puts that right.
        called: what messages call it, where its name would not tell what was tried.
    """

    name: str
    arguments: tuple[str, ...]
    parts: tuple[str, ...] = (PRELUDE, ACCESS)
    keys: tuple[str, ...] = ()
    rest: str = ""
    is_about_task: bool = True
    asks: Asks = Asks.ALL
    asks_more: Asks | None = None
    repairs: bool = False
    called: str = ""

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Their names, without the mark of numbers."""
        return tuple(one.removeprefix("#") for one in self.arguments)

    def head(self) -> str:
        """The Lua text that binds the names."""
        names, at = (TASK_KEY_NAMES, len(TASK_KEY_NAMES) + len(STATUSES)) if self.is_about_task else ((), 0)
        lines = [f"local {name} = KEYS[{number}]" for number, name in enumerate(names, start=1)]
        if self.is_about_task:
            statuses = (f"{status} = KEYS[{number}]" for number, status in enumerate(STATUSES, start=len(names) + 1))
            lines.append(f"local STATUS_KEY = {{ {', '.join(statuses)} }}")
        lines += [f"local {name} = KEYS[{number}]" for number, name in enumerate(self.keys, start=at + 1)]
        if not self.is_about_task:
            lines.append(f"local FIRST_KEY = {len(self.keys) + 1}")
        if any(one.startswith("#") for one in self.arguments):
            lines.append(_NUMBER)
        fields = (_field(one, number) for number, one in enumerate(self.arguments, start=1))
        lines.append(f"local given = {{ {', '.join(fields)} }}")
        if self.rest:
            lines.append(f"local FIRST = {len(self.arguments) + 1} -- of {self.rest}")
        if CHANGES in self.parts:
            groups = (f"{{ '{name}', {width} }}" for name, width in CHANGE_GROUPS.items())
            lines.append(f"local GROUPS = {{ {', '.join(groups)} }}")
        if SLOTS in self.parts:
            lines.append(uses.SLOT_HEAD)
        asking = uses.head(self.asks, self.asks_more, looks=not self.repairs) if ACCESS in self.parts else ""
        return "\n".join(lines) + "\n" + asking


_NUMBER = """local function number(name, value)
  return tonumber(value) or error('argument ' .. name .. ' is not a number')
end"""


def _field(argument: str, at: int) -> str:
    name = argument.removeprefix("#")
    return f"{name} = number('{name}', ARGV[{at}])" if argument.startswith("#") else f"{name} = ARGV[{at}]"


def _change(name: str, *arguments: str, parts: tuple[str, ...] = (), **further: Any) -> Binding:
    parts = (PRELUDE, ACCESS, MONEY, CHANGES, *parts)
    return Binding(name, (*_CHANGE, *arguments), parts, rest="groups of changes", **further)


def _signal(name: str, *arguments: str, parts: tuple[str, ...] = ()) -> Binding:
    return Binding(name, (*_SIGNAL, *arguments), (PRELUDE, ACCESS, *(parts or WORK), SIGNALS))


BINDINGS = {
    binding.name: binding
    for binding in (
        Binding(
            "create",
            ("spec", "entry", "name", "labels", "priority", *_MOST, "max_tree_turns", "reason", "after",
             "#dependants_max", "#walk_max", "parent", "on_parent_end", "#max_children", "starts_at", *LIMITS,
             "#key_ttl_ms", _ALL_EVENTS),
            (PRELUDE, ACCESS, *GRAPH, TREE_TURNS, CREATING),
            keys=("CREATED", "TOMBSTONES"),
        ),
        Binding(
            "occur",
            ("schedule", "definition", "#due_ms", "#next_ms", "overlap", "spec", "entry", "name", "labels", "priority",
             *_MOST, "max_tree_turns", "reason", *LIMITS, _ALL_EVENTS),
            (PRELUDE, ACCESS, *GRAPH, TREE_TURNS, CREATING),
            keys=("SCHEDULES", "STATES", "TOMBSTONES"), called="make the task of a schedule",
        ),
        Binding(
            "schedule", ("kind", "name", "definition", "#next_ms", "#most"), parts=(), keys=("SCHEDULES", "STATES"),
            is_about_task=False, called="change a schedule",
        ),
        Binding(
            "claim", ("seq", "process", "claim", "request", "#lease_ms", *_POOLS, *LIMITS, _ALL_EVENTS),
            (PRELUDE, ACCESS, *GRAPH, MONEY, CLAIMING),
            asks=Asks.TURN,
        ),
        _change(
            "commit", "#events_max", "#republish_ms", "#lease_ms", "#slack_ms",
            parts=(*WORK, LOCKS, TREE_TURNS), asks=Asks.COMMIT, asks_more=Asks.TURN,
        ),
        _change(
            "suspend", *LIMITS, "to", "#due_ms", "reason", "detail", "unsent", "#max_children",
            parts=(*GRAPH, TREE_TURNS, CREATING, SPAWNING), asks=Asks.TURN,
        ),
        _change("finish", *_FINISH, parts=(*GRAPH, FINISHING), asks=Asks.NEXT, asks_more=Asks.TURN),
        _change(
            "go_on", *_FINISH, "next_claim", "process", "request", "#lease_ms", _ALL_EVENTS,
            parts=(*GRAPH, FINISHING, CLAIMING), asks=Asks.TURN, called="finish and go on",
        ),
        _signal("deliver", "kind", "value", "prompt", "said", "who", "#inbox_max", "#why_max", parts=GRAPH),
        _signal("stop", "kind", "reason", parts=GRAPH),
        _signal("resume", parts=GRAPH),
        _signal(
            "depend", "kind", "on", "rule", "#dependencies_max", "#dependants_max", "#walk_max", parts=GRAPH
        ),
        _signal("unlock", "resource", "who", parts=GRAPH),
        _signal("revive", "kind", "archive", *_MOST, parts=GRAPH),
        _signal("supersede", "seq", "entry", "#first", "who", parts=GRAPH),
        _signal("limit", *_MOST, "max_tree_turns", parts=(*WORK, TREE_TURNS)),
        _signal("model", "model", "told"),
        Binding(
            "recover",
            (
                "fence", "claim", "evidence", "process", "policy", "#max_recoveries", "#max_stalls", "#max_age_ms",
                "#second_visit_ms", "#lease_ms", "#why_max", *LIMITS,
            ),
            (PRELUDE, ACCESS, *GRAPH),
        ),
        Binding("republish", ("#ahead_ms", "#first_ms", "#max_ms", "#why_max")),
        Binding("fire", ("source", "#why_max", *LIMITS), (PRELUDE, ACCESS, *GRAPH)),
        Binding("adjust", ("rules", "#events_max", "#republish_ms"), (PRELUDE, ACCESS, *WORK)),
        Binding("delete", ("#tombstone_ms", "force"), keys=("TOMBSTONES",)),
        Binding(
            "repair", ("mode", "deadlines", "edges", "locks", "line", "aside", "#lease_ms", "#why_max", *LIMITS),
            (PRELUDE, ACCESS, *GRAPH, SLOT_CHECKS), repairs=True,
        ),
        Binding("allowed", ("commands",), called="ask what this user may do"),
        Binding(
            "renew", ("#lease_ms",), parts=(), keys=("LEASES",), rest="task id, fence and claim each",
            is_about_task=False,
        ),
        Binding(
            "admit",
            (
                *_LIMITED, "gate", "#behind_ms", "#probe_ms", "#step_ms", "#steps_max", "#input", "#output",
                "#grace_ms", "#arrival_ms", "#hold_ms", "learned",
            ),
            parts=(GAUGE,), keys=("COOLING", "QUEUE", "USED", "GATE", "GATES"), is_about_task=False,
            called="ask whether the model takes calls",
        ),
        Binding(
            "settle", (*_LIMITED, *_HEARD, "#input", "#output", "#answered_ms"), parts=(GAUGE, HEARD),
            keys=("QUEUE", "USED", "GATE", "TIMERS", "KEPT"), is_about_task=False, called="tell what a call has used",
        ),
        Binding(
            "learn", (*_WINDOWS, *_HEARD, "told", "#learned_ms"), parts=(GAUGE, HEARD),
            keys=("LEARNED", "QUEUE", "USED", "GATE", "KEPT", "GATES"), is_about_task=False,
            called="note a provider's limits",
        ),
        Binding(
            "cool", ("gate", "why", "#delay_ms", "#keep_ms"), parts=(), keys=("COOLING",), is_about_task=False,
            called="tell that the model takes no calls",
        ),
        Binding(
            "open", ("gate", "task", "limited", "#wake_ms"), parts=(), keys=("COOLING", "QUEUE", "TIMERS"),
            is_about_task=False, called="tell that the model takes calls",
        ),
        Binding(
            "observe", ("token", "observer", "place", "event", "row", "#hold_ms"), parts=(),
            keys=("OBSERVING", "OBSERVERS", "PUT_BY"), is_about_task=False, called="note what an observer was told",
        ),
        Binding("indexes", ("fix", "aside", "#keep_ms"), parts=(), rest="type each", is_about_task=False),
    )
}  # fmt: skip
"""Every script by its name."""

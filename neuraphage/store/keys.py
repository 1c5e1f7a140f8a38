"""Every Redis key, built in this one file.

All keys begin with `np:{<namespace>}:`; the braces are the hash tag, so one namespace is one slot.

| key                | type   | life      | what                                                                  |
| ------------------ | ------ | --------- | --------------------------------------------------------------------- |
| task:<id>          | hash   | retention | spec, limits, status, marker, counters, seq, fence, claim, prompts ...  |
| task:<id>:messages | list   | retention | the conversation, append only                                          |
| task:<id>:turn     | hash   | retention | the journal, one field an effect                                       |
| task:<id>:inbox    | list   | retention | input and answers not yet consumed                                     |
| task:<id>:events   | stream | retention | what happened, capped                                                  |
| task:<id>:signals  | zset   | retention | idempotency keys of accepted signals, capped                           |
| task:<id>:why      | list   | retention | decisions of sweep and watchers, and their facts, capped               |
| task:<id>:live     | stream | expires   | text deltas, only while somebody watches                               |
| task:<id>:archive:<fence> | list | expires | conversation before a reset                                          |
| outbox             | zset   | permanent | tasks whose next turn should run; score = next publish time            |
| leases             | zset   | permanent | tasks held by a process; score = expiry                                |
| timers             | zset   | permanent | tasks that wait for a time; score = due                                |
| waits              | zset   | permanent | tasks that wait for a person, a lock or a child; score = since         |
| deadlines          | zset   | permanent | `<task>|<prompt>`; score = when the prompt times out                   |
| suspects           | hash   | permanent | expired leases seen once: `<expiry>:<first seen>`                      |
| ids                | zset   | permanent | every task that is stored; score = when it was made                    |
| status:<Status>    | zset   | permanent | tasks by status; score = since                                         |
| retention          | zset   | permanent | ended tasks; score = when their index entries go                       |
| tombstones         | zset   | permanent | ids of deleted tasks; score = when the tombstone goes                  |
| ledger             | hash   | permanent | what was spent, by day, model and label; old days as one, see money.lua |
| edges              | zset   | permanent | `<awaited task> <waiting task>`, see edges.lua; all scores are 0       |
| locks              | hash   | permanent | by resource, who holds it and who waits for it, see locks.lua            |
| admission          | hash   | permanent | limits of tasks at work, and whose turn it is; only where there are some |
| admission:line     | zset   | permanent | slots that tasks hold, and tasks in line, see slots.lua; all scores are 0 |
| admission:lanes    | zset   | permanent | what parts of the line have a turn; score = priority and round          |
| pools              | hash   | permanent | limits of pools of money, what is used and reserved of each            |
| schedules          | hash   | permanent | schedules by name: what each was made of, as JSON                      |
| schedules:state    | hash   | permanent | where each stands: its next time, its last task                        |
| create:<key>       | string | expires   | task id made under this idempotency key                                |
| processes          | hash   | permanent | process id -> host, pid, start time                                    |
| report             | string | permanent | newest recovery report of a sweep that is not empty                    |
| recoveries         | list   | permanent | the newest 200 recoveries, whoever made them                           |
| observers          | hash   | permanent | how far each observer has come in the events; name -> JSON             |
| put_by             | hash   | permanent | events that observers failed on; name -> JSON                          |
| observing          | string | expires   | who tells events to observers now                                      |
| events             | stream | permanent | kind and task of every event, under its id, capped                    |
| sweep              | hash   | permanent | when the sweep last ran                                                |
| sweep:guard        | string | expires   | economy only: keeps two sweeps from running at once                    |
| health:<process>   | string | expires   | proof that the server takes writes of a worker process                |
| notice:<task>:<event>:<prompt> | string | expires | whether somebody tells, or told, of an open prompt      |
| cooling            | hash   | expires   | gates of models that take no calls now, and until when                  |
| used:<gate>        | zset   | expires   | what calls of a model count for; score = until when                    |
| gate:<gate>        | hash   | expires   | what is used of a model's limits, its open calls and waiting ones       |
| gates              | zset   | expires   | gates of models with limits; score = last call                          |
| learned            | hash   | expires   | what a provider says that it allows; gate -> JSON                       |
| kept               | hash   | expires   | learned limits that workers keep, and until when; gate -> JSON          |
| queue:<gate>       | zset   | expires   | tasks that wait for a model; score = order                              |
| damaged:<what>     | any    | expires   | a key of a wrong type, put aside by repair                              |
| nudge              | pub/sub channel | - | ids of tasks whose flags changed                                      |

Times are server milliseconds. "retention": permanent while the task lives, expiring once it has ended.
"""

from __future__ import annotations

import re
from functools import lru_cache

from neuraphage.model.task import Status

STATUSES = tuple(status.value for status in Status)


class Keys:
    """All keys of one namespace.

    Args:
        namespace: prefix and hash tag.
    """

    def __init__(self, namespace: str) -> None:
        self.prefix = f"np:{{{namespace}}}:"
        self.outbox = self.prefix + "outbox"
        self.leases = self.prefix + "leases"
        self.timers = self.prefix + "timers"
        self.waits = self.prefix + "waits"
        self.deadlines = self.prefix + "deadlines"
        self.suspects = self.prefix + "suspects"
        self.retention = self.prefix + "retention"
        self.tombstones = self.prefix + "tombstones"
        self.processes = self.prefix + "processes"
        self.report = self.prefix + "report"
        self.recoveries = self.prefix + "recoveries"
        self.sweep = self.prefix + "sweep"
        self.sweep_guard = self.prefix + "sweep:guard"
        self.nudge = self.prefix + "nudge"
        self.ids = self.prefix + "ids"
        self.gates = self.prefix + "gates"
        self.cooling = self.prefix + "cooling"
        self.learned = self.prefix + "learned"
        self.kept = self.prefix + "kept"
        self.ledger = self.prefix + "ledger"
        self.pools = self.prefix + "pools"
        self.edges = self.prefix + "edges"
        self.locks = self.prefix + "locks"
        self.admission = self.prefix + "admission"
        self.line = self.prefix + "admission:line"
        self.lanes = self.prefix + "admission:lanes"
        self.schedules = self.prefix + "schedules"
        self.schedule_states = self.prefix + "schedules:state"
        self.all_events = self.prefix + "events"
        self.observers = self.prefix + "observers"
        self.put_by = self.prefix + "put_by"
        self.observing = self.prefix + "observing"
        self.damaged = self.prefix + "damaged:"
        self.statuses = tuple(self.prefix + "status:" + status for status in STATUSES)
        self.script_keys = lru_cache(maxsize=4096)(self._script_keys)

    def task(self, task_id: str) -> str:
        """The task's hash."""
        return f"{self.prefix}task:{task_id}"

    def messages(self, task_id: str) -> str:
        """The conversation."""
        return f"{self.prefix}task:{task_id}:messages"

    def turn(self, task_id: str) -> str:
        """The journal."""
        return f"{self.prefix}task:{task_id}:turn"

    def inbox(self, task_id: str) -> str:
        """Unconsumed input and answers."""
        return f"{self.prefix}task:{task_id}:inbox"

    def events(self, task_id: str) -> str:
        """The history."""
        return f"{self.prefix}task:{task_id}:events"

    def signals(self, task_id: str) -> str:
        """Idempotency keys of signals."""
        return f"{self.prefix}task:{task_id}:signals"

    def why(self, task_id: str) -> str:
        """Recovery decisions."""
        return f"{self.prefix}task:{task_id}:why"

    def live(self, task_id: str) -> str:
        """Text deltas for viewers."""
        return f"{self.prefix}task:{task_id}:live"

    def archive(self, task_id: str, fence: str) -> str:
        """The conversation before the reset that ended this fence; the script, which alone knows it, adds it to ""."""
        return f"{self.prefix}task:{task_id}:archive:{fence}"

    def create(self, key: str) -> str:
        """Task id by idempotency key of create."""
        return f"{self.prefix}create:{key}"

    def health(self, name: str) -> str:
        """Proof of a worker process's writes."""
        return f"{self.prefix}health:{name}"

    def notice(self, task_id: str, prompt_id: str, event: str) -> str:
        """How far the notice of a prompt has come."""
        return f"{self.prefix}notice:{task_id}:{event}:{prompt_id}"

    def queue(self, gate: str) -> str:
        """Tasks that wait for a model."""
        return f"{self.prefix}queue:{gate}"

    def used(self, gate: str) -> str:
        """What calls of a model count for."""
        return f"{self.prefix}used:{gate}"

    def gate(self, gate: str) -> str:
        """What is used of a model's limits."""
        return f"{self.prefix}gate:{gate}"

    def status(self, status: Status) -> str:
        """Tasks of one status."""
        return f"{self.prefix}status:{status.value}"

    def _script_keys(self, task_id: str) -> tuple[str, ...]:
        """KEYS of every script about one task, in the order of TASK_KEY_NAMES, then the status sets."""
        of_task = (getattr(self, name.lower())(task_id) for name in _OF_TASK)
        of_namespace = (getattr(self, name.lower()) for name in _OF_NAMESPACE)
        return (*of_task, *of_namespace, *self.statuses)


_OF_TASK = ("TASK", "MESSAGES", "TURN", "INBOX", "EVENTS", "SIGNALS", "WHY", "LIVE")
_OF_NAMESPACE = ("OUTBOX", "LEASES", "TIMERS", "WAITS", "DEADLINES", "SUSPECTS", "RETENTION", "NUDGE", "IDS", "LEDGER",
                 "POOLS", "EDGES", "LOCKS", "ADMISSION", "ALL_EVENTS")  # fmt: skip
TASK_KEY_NAMES = _OF_TASK + _OF_NAMESPACE
"""What Lua calls the keys that every script about one task is given; the method or field of Keys has the same name."""

_TASK_PART = r"task:task-[0-9a-f-]{36}(:(messages|turn|inbox|events|signals|why))?"
_PERMANENT_PART = (
    r"outbox|leases|timers|waits|deadlines|suspects|retention|tombstones|processes|report|recoveries|sweep|ids"
    r"|ledger|pools|edges|locks|admission|admission:line|admission:lanes|events|observers|put_by"
    r"|schedules|schedules:state"
    r"|status:\w+"
)
PERMANENT = re.compile(rf"^np:\{{[a-z0-9_-]+\}}:({_PERMANENT_PART}|{_TASK_PART})$")
"""Keys that may stand without an expiry; the key-leak fixture fails on any other."""

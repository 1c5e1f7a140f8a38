"""What the scripts do to which key: their types, and the commands that this user must be allowed to run.

One table for all of them. From it comes the Lua text with which each script asks before it begins (access.lua): chains
of calls instead of loops over tables, since the asking was half of a script's time. A script asks for what it may send
itself; a claim for all that a turn sends, so who may not end a turn begins none.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from neuraphage.model.task import Status


class Asks(IntEnum):
    """How much a script asks for; each holds those before it."""

    COMMIT = 1
    """What a write in mid-turn sends."""
    NEXT = 2
    """What a turn sends that ends and goes on."""
    TURN = 3
    """What claims and ends of turns send, whatever becomes of the task."""
    ALL = 4


_LEFT_AND_ENTERED = (Status.QUEUED, Status.RUNNING, Status.WAITING_FOR_USER, Status.BLOCKED, Status.PAUSED)
"""By claims and ends of turns: of their own task, of one that waits for it, or of its children."""
_COMMIT, _NEXT, _TURN, _ALL = Asks.COMMIT, Asks.NEXT, Asks.TURN, Asks.ALL
_TABLE: dict[str, tuple[str, dict[Asks, str]]] = {
    "TASK": (
        "hash",
        {_COMMIT: "HMGET HSET HDEL HEXISTS HGET", _TURN: "HGETALL HKEYS PEXPIRE", _ALL: "DEL PERSIST EXISTS TYPE"},
    ),
    "TURN": ("hash", {_COMMIT: "HSET", _NEXT: "DEL", _TURN: "HGETALL HLEN HGET HDEL PEXPIRE", _ALL: "HMGET PERSIST"}),
    "MESSAGES": (
        "list",
        {_COMMIT: "RPUSH", _TURN: "LLEN LRANGE PEXPIRE", _ALL: "LINDEX LTRIM DEL PERSIST EXISTS COPY"},
    ),
    "INBOX": ("list", {_COMMIT: "LREM", _TURN: "LRANGE LLEN PEXPIRE", _ALL: "RPUSH DEL PERSIST"}),
    "EVENTS": ("stream", {_COMMIT: "XADD XLEN XTRIM", _TURN: "PEXPIRE", _ALL: "DEL PERSIST"}),
    "ALL_EVENTS": ("stream", {_COMMIT: "XADD XDEL", _TURN: "XLEN XTRIM"}),
    "LEASES": ("zset", {_COMMIT: "ZADD ZSCORE", _NEXT: "ZREM"}),
    "DEADLINES": ("zset", {_COMMIT: "ZADD ZREM", _ALL: "ZSCORE"}),
    "OUTBOX": ("zset", {_NEXT: "ZADD", _TURN: "ZREM ZSCORE"}),
    "TIMERS": ("zset", {_TURN: "ZADD ZREM", _ALL: "ZSCORE"}),
    "WAITS": ("zset", {_TURN: "ZADD ZREM", _ALL: "ZSCORE"}),
    "RETENTION": ("zset", {_TURN: "ZADD", _ALL: "ZREM ZSCORE"}),
    "SUSPECTS": ("hash", {_TURN: "HDEL", _ALL: "HSET HGET"}),
    "SIGNALS": ("zset", {_TURN: "PEXPIRE", _ALL: "ZADD ZSCORE ZREMRANGEBYRANK DEL PERSIST"}),
    "WHY": ("list", {_TURN: "PEXPIRE", _ALL: "RPUSH LRANGE LLEN LINDEX LTRIM RPOP DEL PERSIST"}),
    "LEDGER": ("hash", {_COMMIT: "HGET HSET HDEL HLEN HKEYS"}),
    "POOLS": ("hash", {_COMMIT: "HMGET HSET", _ALL: "HDEL"}),
    "EDGES": ("zset", {_TURN: "ZRANGEBYLEX ZREM", _ALL: "ZADD ZLEXCOUNT ZSCORE"}),
    "LOCKS": ("hash", {_TURN: "HSET HDEL"}),
    "ADMISSION": ("", {_TURN: "HLEN"}),
    "IDS": ("zset", {_TURN: "ZADD", _ALL: "ZREM ZSCORE"}),
    "LIVE": ("", {_ALL: "DEL"}),
    "NUDGE": ("", {_TURN: "PUBLISH"}),
    **{
        f"STATUS_KEY.{status.value}": (
            "zset",
            {
                _TURN: "ZADD ZREM" if status in _LEFT_AND_ENTERED else "ZADD",
                _ALL: "ZADD ZREM ZSCORE",
            },
        )
        for status in Status
    },
}
"""By key: its type (none where it is only removed, or is no key), and what is sent to it from which extent on."""
_SLOTS: dict[str, tuple[str, str]] = {
    "ADMISSION": ("hash", "HGET HSET HDEL DEL"),
    "LINE": ("zset", "ZADD ZREM ZLEXCOUNT ZRANGEBYLEX EXISTS"),
    "LANES": ("zset", "ZADD ZREM ZRANGEBYSCORE DEL"),
}
"""The keys of admission, with types and commands. They are asked for where they are in use alone: see slots.lua."""
_LOOKS = {"hash": ("HGET", "''"), "list": ("LLEN", ""), "stream": ("XLEN", ""), "zset": ("ZSCORE", "''")}
"""What fails on a key of another type, with what follows the key; it costs less than to ask for the type."""


def uses(to: Asks, above: Asks | None = None) -> list[tuple[str, str]]:
    """Commands with the Lua name of their key; "" for none.

    Args:
        to: the extent.
        above: without what this smaller one holds.
    """
    found = [("TIME", "")]
    for key, (kind, sent) in _TABLE.items():
        looks = [(_LOOKS[kind][0], key)] if kind and min(sent) <= to else []
        found += looks + [(command, key) for since in sent if since <= to for command in sent[since].split()]
    known = set(uses(above)) if above is not None else set()
    return [use for use in dict.fromkeys(found) if use not in known]


def kinds(to: Asks, above: Asks | None = None) -> list[tuple[str, str]]:
    """Keys by their Lua names, with their types; arguments as of `uses`."""
    return [
        (key, kind)
        for key, (kind, sent) in _TABLE.items()
        if kind and min(sent) <= to and (above is None or min(sent) > above)
    ]


def slot_uses() -> list[tuple[str, str]]:
    """As `uses`, of admission."""
    return [(command, key) for key, (kind, sent) in _SLOTS.items() for command in (_LOOKS[kind][0], *sent.split())]


def head(to: Asks, then: Asks | None, *, looks: bool) -> str:
    """The Lua text that access.lua asks with: ASKS before a script begins, MORE before it ends a task.

    Args:
        to: what the script asks for at once.
        then: what it asks for later, if it comes to that; None for nothing more.
        looks: whether it looks at the types of keys.
    """
    more = "nil" if then is None else _asking(uses(then, to), kinds(then, to))
    return f"local ASKS = {_asking(uses(to), kinds(to) if looks else [])}\nlocal MORE = {more}\n"


def _asking(asked: Iterable[tuple[str, str]], types: Iterable[tuple[str, str]]) -> str:
    """`proven` is quick and tells only whether all is well; `listed` is for finding out what is not."""
    asked, types = list(asked), list(types)
    looked = [(*_LOOKS[kind], key) for key, kind in types]
    shown = {(command, key) for command, _, key in looked}  # what is run need not be asked for
    may = "\n    and ".join(
        f"may('{command}'{key and f', {key}'})" for command, key in asked if (command, key) not in shown
    )
    looks = "".join(f"\n  call('{command}', {key}{more and f', {more}'})" for command, more, key in looked)
    rows = ", ".join(f"{{ '{command}'{key and f', {key}'} }}" for command, key in asked)
    typed = ", ".join(f"{{ {key}, '{kind}' }}" for key, kind in types)
    return f"""{{ proven = function(may)
  local call = redis.call
  if may and not ({may}) then return false end{looks}
  return true
end, listed = function() return {{ {rows} }}, {{ {typed} }} end }}"""


SLOT_HEAD = f"""local function slot_asks(LINE, LANES)
  return {_asking(dict.fromkeys(slot_uses()), [(key, kind) for key, (kind, _) in _SLOTS.items()])}
end"""
"""The Lua text with which a script asks for the keys of admission."""

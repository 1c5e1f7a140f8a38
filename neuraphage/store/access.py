"""Whether the user of the state server may run every command that neuraphage runs, asked before any work is begun.

Each script asks for itself too (access.lua), since rules change while workers run. This asks for all, with the commands
that are sent outside scripts.
"""

from __future__ import annotations

from neuraphage.model.task import Status
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import dumps
from neuraphage.store.failover import GREETING
from neuraphage.store.scripts import script
from neuraphage.store.uses import slot_uses

PROBE = "task-00000000-0000-0000-0000-000000000000"
"""Id of no task: create makes time-ordered ones."""


def check_access(context: StoreContext) -> bool:
    """See that this user may run every command.

    Returns:
        Whether commands outside scripts were asked for too; a server before Redis 7 can only be tried, and is for the
        scripts' own.

    Raises:
        AccessRefused: it may not; the message names the command and the key.
        DamagedKey: a key of the namespace has another type than it should.
        StoreUnavailable, StoreError: the server does not answer.
    """
    keys = context.keys
    # Each with the arguments that tell where its keys are: Valkey 9.1 reads past the end of an EVAL without, and dies.
    # EVALSHA and EVAL need no asking, since this is one.
    plain = [
        *(("HSET", key) for key in (keys.processes, keys.sweep)),
        *(("HGET", key) for key in (keys.sweep, keys.suspects)),
        *((command, keys.processes) for command in ("HGETALL", "HDEL")),
        *((command, keys.report) for command in ("GET", "SET")),
        *((command, keys.sweep_guard) for command in ("SET", "PTTL")),
        *((command, keys.create(PROBE)) for command in ("GET", "SET", "EXISTS")),
        *(("ZRANGEBYSCORE", key) for key in (keys.outbox, keys.leases, keys.timers, keys.deadlines, keys.retention)),
        *((command, keys.tombstones) for command in ("ZADD", "ZSCORE", "ZREMRANGEBYSCORE")),
        *((command, keys.status(Status.QUEUED)) for command in ("ZREVRANGE", "ZCARD")),
        *((command, keys.ids) for command in ("ZRANGE", "ZCARD")),
        *((command, keys.live(PROBE)) for command in ("XADD", "XREVRANGE", "PEXPIRE")),
        *((command, keys.pools) for command in ("HGETALL", "HSET", "HDEL")),
        ("HGETALL", keys.ledger),
        ("ZRANGEBYLEX", keys.edges),
        *((command, getattr(keys, key.lower())) for command, key in slot_uses()),
        *((command, keys.line) for command in ("ZSCAN", "ZRANGE", "ZCARD")),
        *((command, keys.notice(PROBE, PROBE, "opened")) for command in ("GET", "SET")),
        *((command, keys.cooling) for command in ("HKEYS", "HGET", "HGETALL", "HSET", "HDEL", "PTTL", "PEXPIRE")),
        *((command, keys.queue(PROBE)) for command in ("ZADD", "ZRANK", "ZRANGE", "ZREM", "PEXPIRE", "DEL")),
        *((command, keys.used(PROBE)) for command in ("ZADD", "ZRANGE", "ZRANGEBYSCORE", "ZREM", "ZCARD", "PEXPIRE")),
        *((command, keys.gate(PROBE)) for command in ("HGET", "HGETALL", "HSET", "HDEL", "PEXPIRE")),
        *((command, keys.gates) for command in ("ZADD", "ZRANGE", "PEXPIRE")),
        *((command, keys.learned) for command in ("HSET", "HGETALL", "PEXPIRE")),
        *((command, keys.kept) for command in ("HGET", "HSET", "HGETALL", "PEXPIRE")),
        *((command, keys.queue(PROBE)) for command in ("ZRANGEBYSCORE", "ZSCORE", "ZCARD")),
        ("HLEN", keys.turn(PROBE)),
        *(("XREAD", "STREAMS", key, "0") for key in (keys.events(PROBE), keys.all_events)),
        ("SET", keys.health(PROBE)),
        ("SUBSCRIBE", keys.nudge),
        ("CLIENT", "LIST"),
        ("SCAN", "0"),
        *((command,) for command in (GREETING, "MULTI", "EXEC")),
    ]
    reply = script("allowed").run(context, {"commands": dumps(plain)}, task_id=PROBE)
    return bool(reply[0] == b"ALLOWED")

"""Scripts are not rolled back: one that the server would refuse in its midst is refused before it begins.

Every command that any script uses is forbidden in turn, every key is forbidden in turn, and every key is given another
type in turn, under every write of the store (real server only: rules are the server's).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files

import pytest
import redis

from neuraphage.errors import AccessRefused, DamagedKey
from neuraphage.model.task import Status
from neuraphage.ports import Changes, ClaimVerdict, CommitVerdict, FinishTo, SignalKind
from neuraphage.store import invariant, scripts, signals
from neuraphage.store.access import check_access
from neuraphage.store.context import StoreContext
from neuraphage.store.uses import Asks, kinds, uses
from servers import ValkeyProcess
from source_tree import ROOT
from storekit import MODEL_CALL, StoreKit, text_entry
from writekit import ALL_WRITES, Write, extent, pattern

pytestmark = pytest.mark.real_redis

TEXTS = {f.name: f.read_text(encoding="utf-8") for f in files("neuraphage.store").iterdir() if f.name.endswith(".lua")}
COMMANDS = sorted(
    {c for text in TEXTS.values() for c in re.findall(r"(?:redis\.p?call|call_with)\('([A-Z]+)'", text)}
    - {"RENAME", "PTTL"}
)
"""Every command that some script sends; the two are repair's alone."""
OF_CREATE = {"GET", "SET"}
"""Commands that only create sends."""
OF_GATES = {"ZRANK", "ZRANGE", "ZCARD", "ZRANGEBYSCORE"}
"""Commands that only the gates of models send: no state of a task depends on them, so no script asks for them."""
TASK_KEYS = ("messages", "turn", "inbox", "events", "signals", "why")
INDEXES = ("outbox", "leases", "timers", "waits", "deadlines", "suspects", "retention", "ids", "edges")
USER, PASSWORD = "restricted", "pw"


@pytest.fixture(autouse=True)
def _no_look_at_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a command of its own, and would be refused before the script."""
    monkeypatch.setattr(signals, "refuse_when_full", lambda *_: None)


@pytest.fixture
def restricted(real_kit: StoreKit, valkey: ValkeyProcess) -> Iterator[StoreKit]:
    """The same store, for a user whose rules the test sets; it may do all to begin with."""
    allow(real_kit)
    client = redis.Redis(unix_socket_path=str(valkey.socket), username=USER, password=PASSWORD)
    context = real_kit.store.context
    kit = StoreKit(type(real_kit.store)(context.settings, real_kit.store.clock, client=client), real=True)
    yield kit
    client.close()
    real_kit.client.acl_deluser(USER)


def allow(kit: StoreKit, *rules: str, keys: tuple[str, ...] = ("~*",)) -> None:
    """Give the user these rules on top of all commands; connections that stand keep standing."""
    kit.client.execute_command("ACL", "SETUSER", USER, "reset", "on", f">{PASSWORD}", *keys, "&*", "+@all", *rules)


def refused_whole(kit: StoreKit, calls: list[tuple[str, Write]], error: type[Exception], besides: str = "") -> None:
    """Every call is refused, and together they have changed nothing."""
    before = kit.state()
    for name, write in calls:
        if name != besides:
            with pytest.raises(error):
                write()
    assert kit.state() == before


def works_after_all(kit: StoreKit, calls: list[tuple[str, Write]]) -> None:
    """What was refused before is done now."""
    for name, write in calls:
        unchanged = kit.state()
        write()
        assert kit.state() != unchanged or name == "renew", name
    assert invariant.violations(kit.store.context) == []


def needs(name: str, command: str) -> bool:
    """Whether the script of a write asks for a command, on whatever key."""
    if name == "renew":
        return command in {"TIME", "HMGET", "ZSCORE", "ZADD"}
    if command in OF_CREATE:
        return name == "create"
    return command in {sent for sent, _ in uses(extent(name))}


@pytest.mark.parametrize("writes", ALL_WRITES, ids=lambda make: make.__name__)
def test_a_forbidden_command_changes_nothing(
    real_kit: StoreKit, restricted: StoreKit, writes: Callable[[StoreKit], Iterator[tuple[str, Write]]]
) -> None:
    """Each command of each script is forbidden in turn: who asks for it is refused whole, and who does not is done."""
    calls = list(writes(restricted))
    saved, before = real_kit.snapshot(), real_kit.state()
    assert len(COMMANDS) > 30
    for command in COMMANDS:
        allow(real_kit, f"-{command.lower()}")
        for name, write in calls:
            if needs(name, command):
                with pytest.raises(AccessRefused, match="ACL"):
                    write()
        assert real_kit.state() == before, command
        others = [write for name, write in calls if not needs(name, command)]
        for write in others:
            write()
        if others:
            real_kit.restore(saved)
        with pytest.raises(AccessRefused, match="ACL"):
            check_access(restricted.store.context)
    allow(real_kit)
    works_after_all(restricted, calls)


@pytest.mark.parametrize("writes", ALL_WRITES, ids=lambda make: make.__name__)
def test_a_forbidden_key_changes_nothing(
    real_kit: StoreKit, restricted: StoreKit, writes: Callable[[StoreKit], Iterator[tuple[str, Write]]]
) -> None:
    """Each key is one that the user may only read, in turn."""
    calls = list(writes(restricted))
    prefix = real_kit.keys.prefix
    task, glob = f"{prefix}task:{'?' * 41}", f"{prefix}task:*:"
    parts = {task, *(glob + name for name in (*TASK_KEYS, "live")), *(prefix + name for name in INDEXES)}
    parts |= {f"{prefix}status:{status.value}" for status in Status}
    others = (f"~{prefix}create:*", f"~{prefix}tombstones", f"~{glob}archive:*")
    for part in sorted(parts):
        rules = [("%R~" if other == part else "~") + other for other in parts]
        allow(real_kit, keys=(*rules, *others))
        refused_whole(real_kit, calls, AccessRefused, "renew" if part != prefix + "leases" else "")
    allow(real_kit)
    works_after_all(restricted, calls)


def damage(kit: StoreKit, keys: list[str]) -> None:
    """Make keys hold a string instead of what they held."""
    kit.client.delete(*keys)
    for key in keys:
        kit.client.set(key, "damaged")


@pytest.mark.parametrize("writes", ALL_WRITES, ids=lambda make: make.__name__)
def test_a_damaged_key_changes_nothing(
    real_kit: StoreKit, writes: Callable[[StoreKit], Iterator[tuple[str, Write]]]
) -> None:
    """Each key has another type than it should, in turn: who may touch it is refused whole, and says repair."""
    calls = [(name, write) for name, write in writes(real_kit) if name != "renew"]
    saved = real_kit.snapshot()
    ids = [raw.decode() for raw in real_kit.client.zrange(real_kit.keys.ids, 0, -1)]
    for key, _ in kinds(Asks.ALL):
        if key == "TASK":
            continue  # without a record no script begins
        of_task = key.lower() in TASK_KEYS
        named = [pattern(real_kit, key)]
        damage(real_kit, [getattr(real_kit.keys, key.lower())(task_id) for task_id in ids] if of_task else named)
        before = real_kit.state()
        touches = {name: key in dict(kinds(extent(name))) and not (of_task and name == "create") for name, _ in calls}
        for name, write in calls:
            if touches[name]:
                with pytest.raises(DamagedKey, match="neuraphage repair"):
                    write()
        assert real_kit.state() == before, key
        for name, write in calls:
            if not touches[name]:
                write()
        real_kit.restore(saved)
    works_after_all(real_kit, calls)


def test_one_damaged_record_costs_no_other_task_its_lease(kit: StoreKit) -> None:
    """Leases are renewed together: a record of another type is not held, and the others are."""
    (bad, bad_lease), (_, good_lease) = kit.running(), kit.running()
    saved = kit.snapshot()
    damage(kit, [kit.keys.task(bad)])
    answers = kit.store.renew([bad_lease, good_lease])[1]
    assert [answer.held for answer in answers] == [False, True]
    kit.restore(saved)


def test_a_repeat_is_told_committed_only_over_what_is_there(real_kit: StoreKit, restricted: StoreKit) -> None:
    """The commit that was refused is made by its repeat, once; then a further repeat changes nothing."""
    task_id, lease = restricted.running()
    reply = Changes(entries=(text_entry("paid"),), add=MODEL_CALL, outcome=True)
    allow(real_kit, "-rpush")
    with pytest.raises(AccessRefused):
        restricted.store.commit(lease, reply)
    allow(real_kit)
    for _ in range(2):
        assert restricted.store.commit(lease, reply).verdict is CommitVerdict.COMMITTED
    assert real_kit.client.llen(real_kit.keys.messages(task_id)) == 2


def test_who_could_not_store_a_reply_gets_no_task(real_kit: StoreKit, restricted: StoreKit) -> None:
    """A claim is refused where the turn could not be written: no model call is paid, and no crash is forgotten."""
    task_id, _ = restricted.running()
    assert restricted.recover(task_id).decision is not None
    allow(real_kit, "-rpush")
    for _ in range(3):
        with pytest.raises(AccessRefused, match="RPUSH"):
            restricted.try_claim(task_id)
    assert real_kit.number(task_id, "recoveries") == 1
    allow(real_kit)
    assert restricted.try_claim(task_id).verdict is ClaimVerdict.GRANTED


def test_a_reset_keeps_the_conversation_whatever_is_refused(real_kit: StoreKit, restricted: StoreKit) -> None:
    """A reset that is refused leaves the conversation where it was, and one that is made leaves it in the archive."""
    task_id = restricted.put(Status.FAILED)
    stored = real_kit.client.lrange(real_kit.keys.messages(task_id), 0, -1)
    for command in sorted({*COMMANDS} - OF_CREATE - OF_GATES):
        allow(real_kit, f"-{command.lower()}")
        with pytest.raises(AccessRefused):
            restricted.send(task_id, SignalKind.RESET)
        assert real_kit.client.lrange(real_kit.keys.messages(task_id), 0, -1) == stored
    allow(real_kit)
    fence = real_kit.number(task_id, "fence")
    restricted.send(task_id, SignalKind.RESET)
    assert real_kit.client.lrange(real_kit.keys.archive(task_id, str(fence)), 0, -1) == stored


@pytest.mark.parametrize("command", ["zrangebyscore", "client|list", "subscribe", "scan", "xread", "set"])
def test_commands_outside_the_scripts_are_asked_for_too(real_kit: StoreKit, restricted: StoreKit, command: str) -> None:
    """At connection and in doctor everything is asked for, not only what scripts use."""
    assert check_access(restricted.store.context)
    allow(real_kit, f"-{command}")
    with pytest.raises(AccessRefused, match="ACL"):
        check_access(restricted.store.context)


def test_the_rules_of_the_runbook_are_enough(real_kit: StoreKit, restricted: StoreKit) -> None:
    """The rules that RUNBOOK.md gives for a server of someone else allow all that is asked for."""
    found = re.search(r"user needs `([^`]+)`", (ROOT / "RUNBOOK.md").read_text(encoding="utf-8"))
    assert found is not None
    rules = found[1].split()
    real_kit.client.execute_command("ACL", "SETUSER", USER, "reset", "on", f">{PASSWORD}", *rules)
    assert check_access(restricted.store.context)
    assert restricted.running()


def before_redis_7(monkeypatch: pytest.MonkeyPatch, context: StoreContext) -> StoreContext:
    """The scripts as a server runs them that cannot be asked for its rules."""
    read = scripts._read
    monkeypatch.setattr(scripts, "_read", lambda name: read(name).replace("redis.acl_check_cmd", "redis.no_such"))
    scripts.script.cache_clear()
    return replace(context)


def test_an_older_server_is_tried(real_kit: StoreKit, restricted: StoreKit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rules cannot be asked for, every command is tried on a task that is not there, and nothing is left."""
    context = before_redis_7(monkeypatch, restricted.store.context)
    try:
        assert not check_access(context)
        assert real_kit.state() == {}
        tried = [c for c in COMMANDS if c not in {"TIME", "TYPE", "COPY", "GET", "SET"} | OF_GATES]
        for command in tried:
            allow(real_kit, f"-{command.lower()}")
            with pytest.raises(AccessRefused, match="ACL"):
                check_access(context)
            allow(real_kit)
            real_kit.client.flushall()
        assert real_kit.state() == {}
    finally:
        monkeypatch.undo()
        scripts.script.cache_clear()


def test_a_finished_turn_is_whole_or_not_there_on_an_older_server(
    real_kit: StoreKit, restricted: StoreKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the order protects: the token is written last, so no repeat is told COMMITTED too soon."""
    task_id, lease = restricted.running()
    before_redis_7(monkeypatch, restricted.store.context)
    try:
        allow(real_kit, "-rpush")
        with pytest.raises(AccessRefused, match="ACL"):
            restricted.finish(lease, FinishTo.NEXT, Changes(entries=(text_entry("paid"),), add=MODEL_CALL))
        assert real_kit.number(task_id, "token") == 0
        allow(real_kit)
        done = restricted.finish(lease, FinishTo.NEXT, Changes(entries=(text_entry("paid"),), add=MODEL_CALL))
    finally:
        monkeypatch.undo()
        scripts.script.cache_clear()
    assert done.verdict is CommitVerdict.COMMITTED
    assert real_kit.client.llen(real_kit.keys.messages(task_id)) == 2

"""Stored states of a release: what Redis and the spool hold at one instant, as files that a later release reads.

A state is JSON: every key of the namespace with its type, value and remaining life, and every file of the spool.
Bytes that are no UTF-8 text stand as `{"b64": ...}`; the folder that it was recorded in stands as @FOLDER@.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import TERMINAL, Mode, Status
from neuraphage.ports import Delta, Interrupt
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from source_tree import ROOT
from turnkit import Rig, calls, says

STATES = ROOT / "tests" / "fixtures" / "stored_states"
NAMESPACE = "turns"
FOLDER = "@FOLDER@"
FILE_TEXT = "hello\n"
STEP_LIMIT = 40
WRITES = ("create", "signal", "claim", "commit", "suspend", "finish", "fire", "recover")


# --- scenarios: a model that knows the next step from the conversation alone ----------------------------


@dataclass(frozen=True)
class Scenario:
    """A task to record.

    Args:
        replies: of the model, in order; the reply to give is told by how many the conversation has.
        spec: fields of the task.
        first_fault: what the model says to its very first call, when the scenario is recorded.
        act: what people do after the first turn, when it is recorded.
        ends: how a later release must end it, from every state of it.
        files: what must stand in the working directory then.
    """

    replies: tuple[ModelReply, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    first_fault: ModelFault | None = None
    act: Callable[[Rig, str], object] | None = None
    ends: Status = Status.COMPLETED
    files: Mapping[str, str] = field(default_factory=dict)


def _pause(rig: Rig, task_id: str) -> None:
    rig.people.pause(task_id, key="pause")


def _cancel(rig: Rig, task_id: str) -> None:
    rig.people.cancel(task_id, "no longer wanted", key="cancel")


def _send(rig: Rig, task_id: str) -> None:
    rig.people.send(task_id, "Say it politely.", key="send")


WRITE = calls(("t-write", "write_file", {"path": "hello.txt", "content": FILE_TEXT}), text="I write the file.")
READ = calls(("t-read", "read_file", {"path": "hello.txt"}), text="I read it again.")
COPY = calls(("t-copy", "run_command", {"command": "cat hello.txt | tee copy.txt"}), text="I copy it.")
ASK = calls(("t-ask", "ask_user", {"question": "Which colour?"}), text="I ask.")
DONE = says("Done.")
HELLO = {"hello.txt": FILE_TEXT}
BOTH = {**HELLO, "copy.txt": FILE_TEXT}

SCENARIOS = {
    "work": Scenario((WRITE, COPY, READ, DONE), files=BOTH),
    "permission": Scenario((WRITE, COPY, DONE), spec={"allow": ()}, files=BOTH),
    "question": Scenario((ASK, DONE)),
    "talk": Scenario(
        (says("Which file?"), WRITE, DONE),
        spec={"mode": Mode.CONVERSATIONAL},
        ends=Status.WAITING_FOR_USER,
        files=HELLO,
    ),
    "fault": Scenario((WRITE, DONE), first_fault=ModelFault(FaultKind.OVERLOADED, "busy"), files=HELLO),
    "refused": Scenario((WRITE, DONE), first_fault=ModelFault(FaultKind.AUTHENTICATION, "no key"), files=HELLO),
    "pause": Scenario((WRITE, READ, DONE), act=_pause, files=HELLO),
    "cancel": Scenario((WRITE, DONE), act=_cancel, ends=Status.CANCELLED, files=HELLO),
    "input": Scenario((WRITE, DONE, says("Done, with pleasure.")), act=_send, files=HELLO),
}


class FollowingModel:
    """ports.ModelClient: gives the reply that comes next in the conversation it is shown.

    Args:
        scenario: its replies.
        recording: whether the scenario's fault comes first.
    """

    def __init__(self, scenario: Scenario, *, recording: bool = False) -> None:
        self.requests: list[ModelRequest] = []
        self._scenario = scenario
        self._fault = scenario.first_fault if recording else None

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        self.requests.append(request)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        return self._scenario.replies[sum(message["role"] == "assistant" for message in request.messages)]


# --- going on ------------------------------------------------------------------------------------------


def carry_on(rig: Rig, task_id: str, scenario: Scenario, *, once: bool = False) -> None:
    """Take a task from any state to its end as workers, watcher, sweep and people do; `once`: one move."""
    tried: set[str] = set()
    for _ in range(1 if once else STEP_LIMIT):
        record = rig.get(task_id)
        match record.status, record.place:
            case Status.PAUSED, _:
                rig.people.resume(task_id)
            case Status.FAILED, _ if record.detail.recoverable and "retry" not in tried:  # type: ignore[union-attr]
                tried.add("retry")
                rig.people.retry(task_id)
            case _, "outbox":
                rig.dispatcher.messages = [(task_id, record.seq)]
                rig.step()
            case _, "leases":
                rig.sweep.recover(rig.kit.held(task_id), "gone")
            case _, "timers":
                rig.retry_now(task_id)
            case _, "waits":
                if replies_of(rig, task_id) == len(scenario.replies):
                    return
                rig.people.answer(task_id, record.prompts[0].prompt_id, "yes")
            case _:
                assert record.status in TERMINAL, record
                return
    assert once, f"the task is not over after {STEP_LIMIT} moves"


def replies_of(rig: Rig, task_id: str) -> int:
    """How many replies of the model are committed."""
    return sum(entry["role"] == "assistant" for entry in rig.entries(task_id))


# --- states as files -----------------------------------------------------------------------------------


def dump(client: Any, folder: Path, spool: Path) -> dict[str, Any]:
    """What the server and the spool hold now."""
    keys = {}
    for key in sorted(client.scan_iter(match=f"np:{{{NAMESPACE}}}:*", count=1000)):
        kind = client.type(key).decode()
        ttl_ms = client.pttl(key)
        keys[key.decode()] = {"type": kind, "value": _value(client, key, kind), "ttl_ms": max(ttl_ms, 0)}
    files = {
        str(path.relative_to(spool)): _plain(path.read_bytes()) for path in sorted(spool.rglob("*")) if path.is_file()
    }
    text = json.dumps({"keys": keys, "spool": files}, ensure_ascii=False)
    found: dict[str, Any] = json.loads(text.replace(str(folder), FOLDER))
    return found


def _value(client: Any, key: bytes, kind: str) -> Any:
    match kind:
        case "hash":
            return {name.decode(): _plain(raw) for name, raw in sorted(client.hgetall(key).items())}
        case "zset":
            return [[_plain(name), score] for name, score in client.zrange(key, 0, -1, withscores=True)]
        case "list":
            return [_plain(raw) for raw in client.lrange(key, 0, -1)]
        case "stream":
            rows = client.xrange(key)
            return [[at.decode(), {name.decode(): _plain(raw) for name, raw in row.items()}] for at, row in rows]
        case _:
            return _plain(client.get(key))


def _plain(raw: bytes) -> Any:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def _raw(plain: Any) -> bytes:
    return base64.b64decode(plain["b64"]) if isinstance(plain, dict) else plain.encode("utf-8")


_TIME_MS = re.compile(r"(?<![0-9A-Za-z.])1[78][0-9]{11}(?![0-9A-Za-z])")
"""A time of 2023 to 2030 in milliseconds, also inside stored JSON and stream ids; no part of a hash or an id."""


def aged(state: Mapping[str, Any], now_ms: int, age_s: float) -> dict[str, Any]:
    """The same state with all its times moved together, so that the last one lies `age_s` before `now_ms`.

    What is stored holds absolute times. Restored as it is, each state would grow older with the calendar, and its
    test would ask something else on another day.
    """
    text = json.dumps(state)
    later_ms = now_ms - int(age_s * 1000) - _last_event_ms(state)
    moved: dict[str, Any] = json.loads(_TIME_MS.sub(lambda found: str(int(found[0]) + later_ms), text))
    return moved


def _last_event_ms(state: Mapping[str, Any]) -> int:
    """When the last event was recorded: leases and timers hold times to come."""
    streams = [stored["value"] for stored in state["keys"].values() if stored["type"] == "stream"]
    return max(int(at.partition("-")[0]) for stream in streams for at, _ in stream)


def restore(state: Mapping[str, Any], client: Any, folder: Path, spool: Path) -> None:
    """Put a state onto an empty server and into an empty folder."""
    here = json.loads(json.dumps(state).replace(FOLDER, str(folder)))
    for key, stored in here["keys"].items():
        value = stored["value"]
        match stored["type"]:
            case "hash":
                client.hset(key, mapping={name: _raw(plain) for name, plain in value.items()})
            case "zset":
                client.zadd(key, {_raw(name): score for name, score in value})
            case "list":
                client.rpush(key, *map(_raw, value))
            case "stream":
                for at, row in value:
                    client.xadd(key, {name: _raw(plain) for name, plain in row.items()}, id=at)
            case _:
                client.set(key, _raw(value))
        if stored["ttl_ms"]:
            client.pexpire(key, stored["ttl_ms"])
    for name, plain in here["spool"].items():
        (spool / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (spool / name).write_bytes(_raw(plain))
    for name, text in here.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")


class Recorder:
    """Takes a state before and after every write to the store.

    Args:
        store: its writes are watched.
        folder: the working directory.
        spool: the folder of the spool.
    """

    def __init__(self, store: RedisStore, folder: Path, spool: Path) -> None:
        self.states: list[dict[str, Any]] = []
        self._store, self._folder, self._spool = store, folder, spool
        for name in WRITES:
            setattr(store, name, self._watched(getattr(store, name)))

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **more: Any) -> Any:
            self.take()
            try:
                return write(*args, **more)
            finally:
                self.take()

        return watched

    def take(self) -> None:
        """Keep the present state, unless it is the last one."""
        state = dump(self._store.context.client, self._folder, self._spool)
        state["files"] = {path.name: path.read_text(encoding="utf-8") for path in sorted(self._folder.glob("*.txt"))}
        if state["keys"] and (not self.states or state != self.states[-1]):
            self.states.append(state)


def settings_of(folder: Path) -> Settings:
    """Settings of the process that records or restores."""
    return Settings(namespace=NAMESPACE, data_dir=folder / ".data")


def states_of(path: Path) -> list[dict[str, Any]]:
    """The states of one file."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found

"""Whole turns in one process: a real store, the real runner, tools and spool, and a model that a test writes.

A process that dies is played by `Killed`, which no handler of the product may catch: what was committed by
then is all that the next process finds.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fakeredis
import orjson
from celery.exceptions import WorkerTerminate

from eventkit import data_faults, index_faults, stamp_faults, stored_events
from everykind import missing_kinds
from neuraphage.api.service import TaskService
from neuraphage.client_wiring import new_task_id
from neuraphage.decide.conversation import tool_calls
from neuraphage.hooks.declaring import Hook
from neuraphage.hooks.guards import LoadedGuards
from neuraphage.model.effect import EffectClass
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.model.usage import Price, PriceQuote, Usage
from neuraphage.ports import Delta, Interrupt, ModelClient, NoGuards, ToolContext
from neuraphage.redaction.redactor import Redactor
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.runtime.runner import TurnRunner
from neuraphage.runtime.services import Services
from neuraphage.runtime.sweep import Sweep
from neuraphage.settings import Settings
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.store import invariant, queries
from neuraphage.store.tasks import RedisStore
from neuraphage.testing import Recorder
from neuraphage.testing.scripted_api.rules import check_body
from neuraphage.testing.scripted_api.shape import MessagesBody
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.turn_files import LocalTurnFiles
from patience import PATIENCE_S
from storekit import StoreKit

WAIT_LIMIT_S = PATIENCE_S
MAX_MESSAGES = 500
DESTROYERS = {"rm", "dd", "chmod", "chown", "shred", "mkfs", "find", "mv", "truncate"}
USAGE = Usage(input_tokens=80, output_tokens=20)
A_MICROUSD_A_TOKEN = PriceQuote(
    price=Price(input_microusd=1_000_000, output_microusd=1_000_000, cache_write_microusd=0, cache_read_microusd=0),
    known=True,
)


class Killed(WorkerTerminate):
    """The process is gone; nothing may catch this but the test. Celery ends a process so, whatever code runs in it."""


def until(condition: Callable[[], Any], limit_s: float = WAIT_LIMIT_S) -> Any:
    """Wait for a condition and return its value; the limit only keeps a broken test from hanging."""
    deadline_s = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > deadline_s:
            raise AssertionError("the condition did not come true")
        time.sleep(0.01)
    return found


# --- the model -----------------------------------------------------------------------------------------


def says(text: str = "", *, stop_reason: str = "end_turn", usage: Usage = USAGE, **more: Any) -> ModelReply:
    """A reply of one text block (none for empty text)."""
    content = [{"type": "text", "text": text}] if text else []
    return ModelReply(
        content=content, stop_reason=stop_reason, usage=usage, model="scripted-1", message_id="msg-1", **more
    )


def calls(
    *wanted: tuple[str, str, dict[str, Any]], stop_reason: str = "tool_use", text: str = "", **more: Any
) -> ModelReply:
    """A reply of tool calls: (id, tool, parameters) each, behind a text if there is one.

    The rig runs commands for real, so one that destroys is refused here, by words and not by the policy under test.
    """
    for _, _, params in wanted:
        words = set(str(params.get("command", "")).replace("/", " ").split())
        if words & DESTROYERS:
            raise AssertionError(f"{params}: no test hands a destroying command to a rig that runs commands")
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": key, "name": name, "input": params} for key, name, params in wanted]
    return ModelReply(
        content=content, stop_reason=stop_reason, usage=USAGE, model="scripted-1", message_id="msg-1", **more
    )


Step = ModelReply | BaseException | Callable[[ModelRequest, Callable[[Delta], None], Interrupt], ModelReply]


class FakeModel:
    """ports.ModelClient by a list of steps, one a call; every request must keep the API's rules."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[ModelRequest] = []

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        body = {
            "model": request.model,
            "messages": request.messages,
            "system": request.system,
            "tools": request.tools,
            "max_tokens": request.max_tokens,
        }
        check_body(orjson.loads(orjson.dumps(body)), MessagesBody)
        step = self.steps[len(self.requests)]
        self.requests.append(request)
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, ModelReply) else step(request, on_delta, interrupt)


# --- tools ---------------------------------------------------------------------------------------------


@dataclass
class FakeTool:
    """A tool that writes its runs down.

    Args:
        name: as the model calls it.
        effect_class: what a repeat does.
        side_effecting: whether people are asked.
        act: what it does; may raise Killed.
        happened: what its probe says.
        timeout_s: longest run that it promises.
        version: of what a call means.
        traits: of its parameters.
    """

    name: str = "act"
    effect_class: EffectClass = EffectClass.PURE
    side_effecting: bool = False
    act: Callable[[Mapping[str, Any], ToolContext], ToolResult] = lambda params, context: ToolResult(text="acted")
    happened: ProbeVerdict = ProbeVerdict.UNKNOWN
    timeout_s: float = 10.0
    version: str = "1"
    traits: ToolTraits = field(default_factory=ToolTraits)
    runs: list[str] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def declaration(self) -> ToolDeclaration:
        return ToolDeclaration(
            name=self.name,
            description="A tool of the tests.",
            input_schema={"type": "object"},
            effect_class=self.effect_class,
            side_effecting=self.side_effecting,
            timeout_s=self.timeout_s,
            version=self.version,
            traits=self.traits,
        )

    def check(self, params: Mapping[str, Any]) -> str | None:
        return "bad is no parameter" if "bad" in params else None

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        return {"before": 1}

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        self.runs.append(context.effect_id)
        return self.act(params, context)

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        self.probes.append(dict(evidence))
        return Probe(verdict=self.happened)


# --- the rig -------------------------------------------------------------------------------------------


class SilentPresence:
    """ports.Presence without a connection: no nudge ever comes."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        self._closed.wait(timeout_s)
        return False

    def close(self) -> None:
        self._closed.set()


class LocalDispatcher:
    """ports.Dispatcher by a list in memory; `refusing` plays a broker that is away."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int]] = []
        self.published: list[tuple[str, int, int]] = []
        self.after: list[str] = []
        self.refusing = False

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        if self.refusing:
            return False
        self.messages.append((task_id, seq))
        self.published.append((task_id, iteration, seq))
        self.after.append(after)
        return True

    def has_waiting(self) -> bool:
        return self.refusing or bool(self.messages)

    def queue_length(self) -> int | None:
        return None if self.refusing else len(self.messages)


@dataclass
class Rig:
    """One worker process, its state server and the people who use it.

    `reborn` makes the next process over the same server.
    """

    settings: Settings
    store: RedisStore
    model: ModelClient
    services: Services
    keeper: LeaseKeeper
    runner: TurnRunner
    dispatcher: LocalDispatcher
    folder: Path
    client: Any
    extra: tuple[Any, ...] = ()
    hooks: tuple[Hook, ...] = ()

    @property
    def kit(self) -> StoreKit:
        return StoreKit(self.store)

    @property
    def people(self) -> TaskService:
        return TaskService(self.store, self.dispatcher, self.services.redaction, lambda: secrets.token_hex(4))

    @property
    def sweep(self) -> Sweep:
        return Sweep(self.store, self.dispatcher, self.store.clock, self.settings)

    # --- doing ---

    def submit(self, prompt: str = "Do it.", **fields: Any) -> str:
        fields = {"allow": ("*",), "model": "scripted-1", "working_dir": str(self.folder), **fields}
        return self.people.submit(TaskSpec(task_id=new_task_id(), name="A task", prompt=prompt, **fields))

    def step(self) -> str:
        """Handle the oldest message."""
        task_id, seq = self.dispatcher.messages.pop(0)
        return self.runner.run(task_id, seq)

    def drain(self) -> None:
        """Handle messages until there are none."""
        for _ in range(MAX_MESSAGES):
            if not self.dispatcher.messages:
                return
            self.step()
        raise AssertionError(f"still busy after {MAX_MESSAGES} messages")

    def run(self, prompt: str = "Do it.", **fields: Any) -> str:
        """Submit a task and go on until nothing is left to do; returns its id."""
        task_id = self.submit(prompt, **fields)
        self.drain()
        return task_id

    def through(self, task_id: str) -> Rig:
        """Handle messages until there are none, in another process where this one is killed; returns the last one."""
        try:
            self.drain()
        except Killed:
            return self.after_death(task_id)
        return self

    def after_death(self, task_id: str) -> Rig:
        """Handle messages until there are none in the process that follows a dead one, wherever the task is."""
        record = self.get(task_id)
        following = self.recover(task_id) if record.place == "leases" else self.reborn()
        if record.place == "outbox":
            following.dispatcher.messages[:] = [(task_id, record.seq)]
        following.drain()
        return following

    def dies(self) -> None:
        """Handle the oldest message in a process that is killed on the way."""
        try:
            outcome = self.step()
        except Killed:
            return
        raise AssertionError(f"nothing killed the process: {outcome}")

    def recover(self, task_id: str, evidence: str = "gone") -> Rig:
        """Take the task from the dead process, as the watcher does; returns the next process."""
        self.sweep.recover(self.kit.held(task_id), evidence)
        return self.reborn()

    def reborn(self, model: ModelClient | None = None, extra: Iterable[Any] | None = None) -> Rig:
        """Another process over the same server, spool and broker, perhaps with other tools."""
        tools = self.extra if extra is None else tuple(extra)
        made = new_rig(
            self.folder, model or self.model, client=self.client, settings=self.settings, extra=tools,
            redactor=self.services.redaction, hooks=self.hooks,
        )  # fmt: skip
        made.dispatcher = self.dispatcher
        object.__setattr__(made.services, "dispatcher", self.dispatcher)
        return made

    def cooled(self) -> None:
        """Let the wait pass that the provider has asked all workers for."""
        cooling = self.store.context.keys.cooling
        for gate, raw in self.client.hgetall(cooling).items():
            self.client.hset(cooling, gate, orjson.dumps({**orjson.loads(raw), "till": 1}))

    def retry_now(self, task_id: str) -> None:
        """Let a retry timer come due."""
        self.cooled()
        keys = self.store.context.keys
        raw = orjson.loads(self.client.hget(keys.turn(task_id), "model"))
        raw["retry_at_ms"] = 1
        self.client.hset(keys.turn(task_id), "model", orjson.dumps(raw))
        self.kit.due("timers", task_id)
        assert self.sweep.timers(self.store.now_ms()) == 1

    # --- looking ---

    def get(self, task_id: str) -> TaskRecord:
        return self.store.get(task_id)

    def entries(self, task_id: str) -> list[dict[str, Any]]:
        return queries.conversation(self.store.context, task_id)

    def journal(self, task_id: str) -> dict[str, Any]:
        return queries.journal(self.store.context, task_id)

    def kinds(self, task_id: str) -> list[str]:
        return [event.kind for event in queries.events(self.store.context, task_id)]

    def results(self, task_id: str) -> dict[str, dict[str, Any]]:
        """Tool results by tool_use id; a call with two results is a fault."""
        found: dict[str, dict[str, Any]] = {}
        for entry in self.entries(task_id):
            for block in entry["content"]:
                if block["type"] == "tool_result":
                    assert block["tool_use_id"] not in found
                    found[block["tool_use_id"]] = block
        return found

    def called(self, task_id: str) -> list[str]:
        """Ids of all tool calls of the conversation."""
        entries = [entry for entry in self.entries(task_id) if entry["role"] == "assistant"]
        return [call.tool_use_id for entry in entries for call in tool_calls(entry["content"])]

    def check(self) -> None:
        """What must hold at all times."""
        assert invariant.violations(self.store.context) == []
        assert self.kit.leaked_keys() == []
        assert index_faults(self.store.context) == []
        told = [*stored_events(self.store.context)]
        assert [fault for event in told for fault in stamp_faults(event) + data_faults(event)] == []
        assert missing_kinds(self.store.context) == []


def new_rig(
    folder: Path,
    model: ModelClient,
    *,
    client: Any = None,
    settings: Settings | None = None,
    extra: Iterable[Any] = (),
    redactor: Any = None,
    dispatcher: LocalDispatcher | None = None,
    store: RedisStore | None = None,
    hooks: Sequence[Hook] = (),
    **chosen: Any,
) -> Rig:
    """A process over a fake server of its own, unless a client is given.

    Args:
        folder: working directory of tasks, and data.
        model: the model.
        client: a connection to a state server.
        settings: all settings; else `chosen` over the defaults.
        extra: further tools.
        redactor: takes secrets out.
        dispatcher: the broker.
        store: a store to use instead of one of our own.
        hooks: guards.
    """
    client = client if client is not None else fakeredis.FakeRedis(server=fakeredis.FakeServer())
    settings = settings or Settings(namespace="turns", data_dir=folder / ".data", **chosen)
    clock = SystemClock()
    store = store or RedisStore(settings, clock, client=client)
    dispatcher = dispatcher or LocalDispatcher()
    tools = tuple(extra)
    redactor = redactor or Redactor()
    services = Services(
        settings=settings,
        clock=clock,
        store=store,
        dispatcher=dispatcher,
        model=model,
        tools=default_toolbox(extra=tools),
        shell=ShfmtReader(),
        spool=CommandSpool(settings.data_dir / "spool", settings.spool_max_bytes, redact=redactor.text),
        files=LocalTurnFiles(),
        redaction=redactor,
        quote=lambda _: A_MICROUSD_A_TOKEN,
        new_claim_id=lambda: secrets.token_hex(8),
        guards=LoadedGuards(hooks) if hooks else NoGuards(),
    )
    keeper = LeaseKeeper(store, SilentPresence(), clock, settings, lambda _: None)
    runner = TurnRunner(services, keeper, f"process-{secrets.token_hex(4)}")
    return Rig(settings, store, model, services, keeper, runner, dispatcher, folder, client, tools, tuple(hooks))


def recorded(rig: Rig, recorder: Recorder) -> Rig:
    """A process whose writes and calls of the model are recorded; a CrashInjector kills it in one of them."""
    object.__setattr__(rig.services, "store", recorder.turn_store(rig.store))
    object.__setattr__(rig.services, "model", recorder.model(rig.model))
    return rig


def killed() -> None:
    """What a CrashInjector does in a rig."""
    raise Killed


def texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The text blocks of messages, in order."""
    return [block["text"] for message in messages for block in message["content"] if block["type"] == "text"]

"""Wraps ports and writes down each call by name, in order.

Wrap every port of a process with one recorder, and its `calls` are all that the process did to the world.
Subclasses act at a call; see CrashInjector.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

from neuraphage.model.tool import ToolDeclaration
from neuraphage.ports import (
    Dispatcher,
    ModelClient,
    NoticeStore,
    Observers,
    ObserverStore,
    Relay,
    Spool,
    SpoolWatch,
    SweepStore,
    TaskStore,
    Tool,
    ToolBox,
    TurnStore,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call.

    Args:
        number: its place among all calls of the recorder, from 1.
        name: port and method, and for tools the tool's name: `TurnStore.commit`, `Tool.run:edit`.
        occurrence: its place among the calls of this name, from 1.
    """

    number: int
    name: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.name}#{self.occurrence}"


def _methods(port: type) -> frozenset[str]:
    public = (name for name in dir(port) if not name.startswith("_"))  # also what a port has of a more general one
    return frozenset(name for name in public if isinstance(getattr(port, name), FunctionType))


_PORTS: Mapping[str, frozenset[str]] = {
    "TurnStore": _methods(TurnStore),
    "SweepStore": _methods(SweepStore),
    "TaskStore": _methods(TaskStore),
    "Dispatcher": _methods(Dispatcher),
    "ModelClient": _methods(ModelClient),
    "Spool": _methods(Spool),
    "Relay": _methods(Relay) - {"warm"} | {"answer"},  # `answer` is what its transport asks of it
    "SpoolWatch": _methods(SpoolWatch),
    "NoticeStore": frozenset({"begin_notice", "end_notice"}),  # the others only read, and belong to other ports, too
    "Outside": frozenset({"tell"}),  # of a prompt
    "StandIn": frozenset({"look"}),  # of the process beside a worker: its renewals
    "ObserverStore": frozenset({"begin", "end", "note", "settle", "again"}),  # the others only read
    "Observers": frozenset({"tell"}),
    "Tool": _methods(Tool) - {"check"},  # a question about the parameters, without any effect
}


def recordable() -> frozenset[str]:
    """Every `Port.method` that a recorder writes down: what a complete suite must have seen."""
    return frozenset(f"{port}.{method}" for port, methods in _PORTS.items() for method in methods)


class Recorder:
    """Writes down the calls of the ports it wraps. Thread-safe.

    A wrapped port is used like the port itself; whatever the port does not name goes to the target.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._counts: Counter[str] = Counter()
        self._paused = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls so far, in the order in which they began."""
        with self._lock:
            return tuple(self._calls)

    def pause(self) -> None:
        """Record no further calls; they go through untouched."""
        self._paused = True

    def resume(self) -> None:
        """Record again after `pause`."""
        self._paused = False

    # --- ports ---

    def turn_store(self, target: TurnStore) -> TurnStore:
        """Wrap what turns write."""
        wrapped: TurnStore = self._wrapped("TurnStore", target)
        return wrapped

    def sweep_store(self, target: SweepStore) -> SweepStore:
        """Wrap what sweep and watcher read and write."""
        wrapped: SweepStore = self._wrapped("SweepStore", target)
        return wrapped

    def task_store(self, target: TaskStore) -> TaskStore:
        """Wrap what people's requests read and write."""
        wrapped: TaskStore = self._wrapped("TaskStore", target)
        return wrapped

    def dispatcher(self, target: Dispatcher) -> Dispatcher:
        """Wrap the sender of wake-up hints."""
        wrapped: Dispatcher = self._wrapped("Dispatcher", target)
        return wrapped

    def model(self, target: ModelClient) -> ModelClient:
        """Wrap the model client."""
        wrapped: ModelClient = self._wrapped("ModelClient", target)
        return wrapped

    def spool(self, target: Spool) -> Spool:
        """Wrap the spool."""
        wrapped: Spool = self._wrapped("Spool", target)
        return wrapped

    def relay(self, target: T) -> T:
        """Wrap the relay of calls of the model, as a `neuraphage.relay.reply_relay.ReplyRelay` is."""
        wrapped: T = self._wrapped("Relay", target)
        return wrapped

    def spool_watch(self, target: SpoolWatch) -> SpoolWatch:
        """Wrap what the watcher may do to commands."""
        wrapped: SpoolWatch = self._wrapped("SpoolWatch", target)
        return wrapped

    def notice_store(self, target: NoticeStore) -> NoticeStore:
        """Wrap the marks of notices."""
        wrapped: NoticeStore = self._wrapped("NoticeStore", target)
        return wrapped

    def outside(self, target: T) -> T:
        """Wrap who is told of prompts, as a `neuraphage.prompt_notices.Outside` is in `tell`."""
        wrapped: T = self._wrapped("Outside", target)
        return wrapped

    def stand_in(self, target: T) -> T:
        """Wrap who renews for a stuck worker, as a `neuraphage.standby.program.StandIn` does in `look`."""
        wrapped: T = self._wrapped("StandIn", target)
        return wrapped

    def observer_store(self, target: ObserverStore) -> ObserverStore:
        """Wrap what is written of observers."""
        wrapped: ObserverStore = self._wrapped("ObserverStore", target)
        return wrapped

    def observers(self, target: Observers) -> Observers:
        """Wrap who tells observers of events."""
        wrapped: Observers = self._wrapped("Observers", target)
        return wrapped

    def tools(self, target: ToolBox) -> ToolBox:
        """Wrap a tool box: prepare, run and probe of each of its tools are recorded."""
        return _RecordedToolBox(self, target)

    def tool(self, target: Tool) -> Tool:
        """Wrap one tool."""
        wrapped: Tool = self._wrapped("Tool", target, f":{target.declaration.name}")
        return wrapped

    # --- for subclasses ---

    def entering(self, call: Call) -> None:
        """Called just before the call goes to its target."""

    def leaving(self, call: Call) -> None:
        """Called just after the target has done it (or raised), before the caller knows."""

    # --- parts ---

    def _wrapped(self, port: str, target: object, label: str = "") -> Any:
        return _RecordedPort(self, port, target, label)

    def _passed(self, name: str, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._paused:
            return target(*args, **kwargs)
        with self._lock:
            self._counts[name] += 1
            call = Call(len(self._calls) + 1, name, self._counts[name])
            self._calls.append(call)
        self.entering(call)
        try:
            return target(*args, **kwargs)
        finally:
            self.leaving(call)


class _RecordedPort:
    """Stands in for a port; its methods go through the recorder."""

    def __init__(self, recorder: Recorder, port: str, target: object, label: str) -> None:
        self._recorder = recorder
        self._port = port
        self._target = target
        self._label = label

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name not in _PORTS[self._port]:
            return found
        full_name = f"{self._port}.{name}{self._label}"
        return lambda *args, **kwargs: self._recorder._passed(full_name, found, args, kwargs)


class _RecordedToolBox:
    """Implements ports.ToolBox by another one whose tools are recorded."""

    def __init__(self, recorder: Recorder, target: ToolBox) -> None:
        self._recorder = recorder
        self._target = target

    def get(self, name: str) -> Tool | None:
        """See ports.ToolBox."""
        tool = self._target.get(name)
        return None if tool is None else self._recorder.tool(tool)

    def declarations(self) -> Sequence[ToolDeclaration]:
        """See ports.ToolBox."""
        return self._target.declarations()

    def why_missing(self, name: str) -> str:
        """See ports.ToolBox."""
        return self._target.why_missing(name)

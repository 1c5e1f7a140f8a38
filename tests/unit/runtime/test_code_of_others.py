"""What a tool does beside its run is code of others, too, and may hang."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import billiard.common
import pytest
from celery.exceptions import WorkerShutdown, WorkerTerminate

from neuraphage.errors import LeaseLost
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.proc.foreign_code import is_of_the_pool
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.tools import tool as function_tool
from neuraphage.tools.command_tool import RunCommand
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def dies_once() -> Callable[..., ToolResult]:
    """A tool's work whose first process is killed in it."""
    tries: list[int] = []

    def act(*_: Any) -> ToolResult:
        tries.append(1)
        if len(tries) == 1:
            raise Killed
        return ToolResult(text="acted")

    return act


def test_checks_preparations_and_probes_are_bounded_like_runs(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are code of others, too: one that hangs is renewed until effect_max_s and no longer."""
    tool: Any = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once(), side_effecting=True)
    tool.refusal = lambda *_: None
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    bounded: dict[str, bool] = {}
    made: list[HeldLease] = []
    begin = HeldLease.__init__

    def remember(held: HeldLease, *given: Any, **named: Any) -> None:
        begin(held, *given, **named)
        made.append(held)

    def noting(step: str) -> Callable[..., Any]:
        original = getattr(tool, step)

        def noted(*given: Any) -> Any:
            bounded[step] = made[-1].effect_since_s is not None
            return original(*given)

        return noted

    monkeypatch.setattr(HeldLease, "__init__", remember)
    for step in ("check", "prepare", "probe", "refusal"):
        monkeypatch.setattr(tool, step, noting(step))
    task_id = rig.submit(allow=())
    rig.step()
    (prompt,) = rig.get(task_id).prompts
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.dies()
    rig.recover(task_id).drain()
    assert bounded == {"check": True, "prepare": True, "probe": True, "refusal": True}
    assert made[-1].effect_since_s is None


class OwnEnd(BaseException):
    """As libraries have them: trio.Cancelled, gevent.Timeout, the outcomes of pytest."""


class OwnExit(SystemExit):
    """As a framework for commands may have it."""


RAISED = [SystemExit(3), OwnExit(3), OwnEnd("no"), GeneratorExit(), asyncio.CancelledError(), KeyboardInterrupt()]


def raising(error: BaseException) -> Callable[..., Any]:
    """A method that raises, without the frames of an earlier time."""

    def method(*_: Any) -> Any:
        raise error.with_traceback(None)

    return method


class Deferred(RunCommand):
    """A command under another name, as the detached work of a tool of others."""

    def __init__(self) -> None:
        super().__init__()
        self._declaration = self._declaration.model_copy(update={"name": "act"})


def tool_for(method: str) -> Any:
    """One whose method is called in the life of a task: see `after_all`."""
    match method:
        case "detached_result":
            return Deferred()
        case "probe":
            return FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once())
        case "refusal":
            return FakeTool(effect_class=EffectClass.KEYED, side_effecting=True)
        case _:
            return FakeTool(effect_class=EffectClass.KEYED if method == "run" else EffectClass.CHECKABLE)


def killed(*_: Any) -> Any:
    raise Killed


def after_all(rig: Rig, method: str) -> dict[str, Any]:
    """The result of a task's only call: its process died in it, or a person was asked, where the method needs that."""
    task_id = rig.submit(allow=() if method == "refusal" else ("*",))
    if method in {"probe", "detached_result"}:
        rig.services.spool.wait = killed  # type: ignore[method-assign]  # of the process that dies
        rig.dies()
        rig = rig.recover(task_id)
    rig.drain()
    for prompt in rig.get(task_id).prompts:
        rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    return rig.results(task_id)["t1"]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("run", "act failed: {}"),
        ("check", "The parameters of act could not be checked, so it was not run: {}."),
        ("prepare", "acted"),
        ("probe", "it may have been done or not"),
        ("refusal", "acted"),
        ("detached_result", "the tool cannot read what it came to"),
    ],
)
def test_a_tool_that_exits_ends_its_call_and_nothing_else(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, method: str, told: str, error: BaseException
) -> None:
    """Whatever a library raises in whichever method: it would end the thread of the turn, or its process.

    Ctrl-C reaches no worker as an exception: its processes have other handlers, as here.
    """
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)
    tool = tool_for(method)
    setattr(tool, method, raising(error))
    rig = make_rig(calls(("t1", "act", {"command": "echo once"})), says("Done."), extra=[tool])
    assert told.format(type(error).__name__) in after_all(rig, method)["content"]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_coroutine_that_exits_ends_its_call_and_nothing_else(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Its event loop lets some of them through, and makes another error of its own cancellation."""
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)

    @function_tool(effect="pure")
    async def act() -> str:
        """Act."""
        await asyncio.sleep(0)
        raise error.with_traceback(None)

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[act])
    told = "RuntimeError: it was cancelled by its own code" if isinstance(error, asyncio.CancelledError) else ""
    assert after_all(rig, "run")["content"].startswith(f"act failed: {told or type(error).__name__}")


@pytest.mark.parametrize(
    ("method", "returned", "told"),
    [
        ("run", "text", "act failed: TypeError: it returned str, not a ToolResult"),
        ("check", 1, "The parameters of act could not be checked, so it was not run: TypeError."),
        ("prepare", None, "acted"),
        ("probe", True, "it may have been done or not"),
        ("refusal", True, "acted"),
        ("detached_result", None, "the tool cannot read what it came to"),
    ],
)
def test_what_a_method_returns_is_what_the_port_says_or_a_failure(
    make_rig: MakeRig, method: str, returned: object, told: str
) -> None:
    """A probe of True and a check of 1 are mistakes that are easily made, and a task cannot go on with them."""
    tool = tool_for(method)
    setattr(tool, method, lambda *_: returned)
    rig = make_rig(calls(("t1", "act", {"command": "echo once"})), says("Done."), extra=[tool])
    assert told in after_all(rig, method)["content"]


def test_a_person_who_ends_the_process_is_heard(make_rig: MakeRig) -> None:
    """Where Ctrl-C raises, as in the workers of `run_turns`, it is no failure of the tool that runs."""
    signal_handler = signal.getsignal(signal.SIGINT)
    assert signal_handler is signal.default_int_handler, "as pytest has it"
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=raising(KeyboardInterrupt()))])
    task_id = rig.submit()
    with pytest.raises(KeyboardInterrupt):
        rig.drain()
    assert rig.results(task_id) == {}


def test_an_interrupt_is_for_the_turn(make_rig: MakeRig) -> None:
    """What it raises into a tool that asks it, as of a lost lease, is no failure of the tool."""
    tool = tool_for("prepare")
    tool.prepare = raising(LeaseLost("task"))
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    assert rig.step().startswith("given back")
    assert rig.results(task_id) == {}


@pytest.mark.parametrize(("effect_class", "is_open"), [(EffectClass.PURE, False), (EffectClass.KEYED, True)])
def test_what_a_tool_raises_leaves_open_whether_its_effect_came(
    make_rig: MakeRig, effect_class: EffectClass, is_open: bool
) -> None:
    """Also of a tool that implements the port itself: a time-out of a payment may have come before it or after it."""

    def act(*_: Any) -> ToolResult:
        raise TimeoutError("no answer")

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(effect_class=effect_class, act=act)])
    task_id = rig.submit()
    rig.drain()
    text = rig.results(task_id)["t1"]["content"]
    assert text.startswith("act failed: TimeoutError: no answer")
    assert ("Whether it took effect is not known." in text) is is_open


@pytest.mark.parametrize("shutdown", [WorkerTerminate(0), WorkerShutdown(0)])
def test_the_end_of_the_process_is_no_failure_of_the_tool(make_rig: MakeRig, shutdown: SystemExit) -> None:
    """Celery raises these into whatever its main thread runs."""

    def interrupted(*_: Any) -> ToolResult:
        raise shutdown

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=interrupted)])
    task_id = rig.submit()
    with pytest.raises(type(shutdown)):
        rig.drain()
    assert rig.results(task_id) == {}


def test_the_signal_handler_of_a_child_is_told_from_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """billiard ends a child by a plain SystemExit, raised from a frame of its own."""
    monkeypatch.setattr(billiard.common, "maybe_setsignal", lambda *_: None)
    monkeypatch.setattr(billiard.common, "_should_have_exited", [False])
    with pytest.raises(SystemExit) as raised:
        billiard.common._shutdown_cleanup(signal.SIGTERM, None)
    assert is_of_the_pool(raised.value)
    assert not is_of_the_pool(ValueError())

"""Children of a task: made, waited for, and told of."""

from __future__ import annotations

from neuraphage.decide.child_actions import AwaitChildren, Spawn, TakeChildren
from neuraphage.decide.child_spec import child_spec
from neuraphage.decide.children import child_id
from neuraphage.decide.hashing import call_name, sha256_hex
from neuraphage.model.effect import EffectClass, EffectState, Marker, MarkerName, Permission, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.subtask import ChildWait
from neuraphage.model.tool import ToolCall, ToolResult
from neuraphage.ports import ChildChanges, Settled, SuspendTo
from neuraphage.runtime.child_place import child_dir
from neuraphage.runtime.no_room import NoRoom
from neuraphage.runtime.savepoint import savepoint
from neuraphage.runtime.seals import Seals
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork


class ChildStep:
    """What one turn does about the children of its task.

    Args:
        services: the ports.
        work: the working copy.
        tools: notes results.
        seals: notes what was decided about calls.
    """

    def __init__(self, services: Services, work: UnitOfWork, tools: ToolStep, seals: Seals) -> None:
        self._services = services
        self._work = work
        self._tools = tools
        self._seals = seals

    def carry_out(self, action: Spawn | AwaitChildren | TakeChildren) -> Settled | None:
        """Do it; the answer where it gives the lease back.

        Raises:
            LeaseLost, StoreUnavailable: as UnitOfWork.suspend.
            NoRoom: somebody else has made children of this task meanwhile; nothing is noted.
        """
        match action:
            case Spawn():
                return self._spawn(action)
            case AwaitChildren():
                return self._wait(action)
            case TakeChildren():
                self._take(action)
                return None

    def _spawn(self, action: Spawn) -> Settled:
        """Make the children in the write that gives the lease back; nothing of them is there before or without it."""
        waited, take_back = 0, savepoint(self._work)
        for call, rules in action.calls:
            self._seals.decided(call, Permission.GRANTED, rules)
            waited += self._made(call)
        try:
            return self._suspend(waited)
        except NoRoom:
            take_back()
            raise

    def _wait(self, action: AwaitChildren) -> Settled:
        """Give the lease back until children are over."""
        wait = ChildWait.ANY if action.awaits_any else ChildWait.ALL
        self._announce(action.call, action.children, awaits_any=action.awaits_any)
        self._work.change_children(ChildChanges(awaited=tuple((task_id, wait) for task_id in action.children)))
        return self._suspend(len(action.children))

    def _take(self, action: TakeChildren) -> None:
        """Note what came of children."""
        if self._work.tool_effect(action.call.tool_use_id) is None:
            self._announce(action.call, ())
        self._work.change_children(ChildChanges(taken=action.taken))
        self._tools.note(action.call, action.result)

    def _made(self, call: ToolCall) -> bool:
        """Note the child of a call; whether it is waited for."""
        work = self._work
        task_id = child_id(work.record.task_id, call_name(call.tool_use_id, work.record.resets))
        spec = child_spec(
            work.record,
            call.params,
            task_id,
            working_dir=child_dir(work.record.spec.working_dir, call.params.get("working_dir")),
            tiers=self._services.settings.tiers,
            now_ms=work.now_ms(),
        )
        waits = bool(call.params.get("wait", True))
        self._announce(call, (task_id,) if waits else ())
        work.change_children(ChildChanges(new=((spec, ChildWait.ALL if waits else ChildWait.LATER),)))
        if not waits:
            text = f"Subtask {task_id} was made and works by itself. wait_for_tasks waits for it and tells its result."
            self._tools.note(call, ToolResult(text=text))
        return waits

    def _announce(self, call: ToolCall, children: tuple[str, ...], *, awaits_any: bool = False) -> None:
        before, digest = self._work.tool_effect(call.tool_use_id), sha256_hex(call.params)
        entry = before or ToolEffect(key=call.tool_use_id, state=EffectState.PLANNED, tool=call.name)
        begun = {
            "state": EffectState.STARTED,
            "fence": self._work.held.lease.fence,
            "params_hash": digest,
            "effect_class": EffectClass.PURE,
            "children": children,
            "awaits_any": awaits_any,
        }
        is_new = before is None or before.state is not EffectState.STARTED
        data = {"tool": call.name, "id": call.tool_use_id}
        self._work.note(
            journal=[entry.model_copy(update=begun)],
            marker=Marker(
                name=MarkerName.TOOL_STARTED, tool=call.name, tool_use_id=call.tool_use_id, params_hash=digest
            ),
            events=[Event(kind=EventKind.TOOL_STARTED, data=data)] if is_new else [],
        )

    def _suspend(self, waited: int) -> Settled:
        named = "subtask" if waited == 1 else f"{waited} subtasks"
        return self._work.suspend(SuspendTo.SUBTASKS, detail={"resource": named})

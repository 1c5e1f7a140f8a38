"""Guards of the loop: asked at the end of a turn that has not failed."""

from __future__ import annotations

from neuraphage.decide.conversation import reply_of_turn
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, Rest
from neuraphage.model.hook import HookPoint, VerdictKind
from neuraphage.model.hook_payload import LoopIteration
from neuraphage.runtime.asking_guards import common, judgement, told, why_blocked
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

THEN = {NextTurn: "next turn", Rest: "rest", Complete: "completed"}


def judged_end(
    services: Services, work: UnitOfWork, action: NextTurn | Complete | Rest
) -> NextTurn | Complete | Rest | Fail:
    """The end of a turn as guards let it be: as it was, with words to the model and another turn, or a failure.

    Another turn counts as every one, so a guard that never lets a task end runs into its limit of turns.
    """
    point = HookPoint.LOOP_ITERATION
    if point not in services.guards.points:
        return action
    counters = work.record.counters
    reply = reply_of_turn(work.entries, counters.iteration)
    payload = LoopIteration(
        **common(work),
        then=THEN[type(action)],
        finished=counters.iteration + 1,
        cost_microusd=counters.cost_microusd,
        text="".join(str(block["text"]) for block in reply if block.get("type") == "text"),
    )
    found = judgement(services, work, payload)
    if found.verdict is VerdictKind.ALLOW:
        return action
    work.note(events=told(point, found))
    if found.verdict is VerdictKind.BLOCK:
        return Fail(why_blocked(point, found), recoverable=True)
    said = [text for text in (action.say if isinstance(action, NextTurn) else None, found.text) if text]
    remarks = action.remarks if isinstance(action, NextTurn) else ()
    return NextTurn(say="\n\n".join(said), remarks=remarks)

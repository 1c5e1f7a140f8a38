"""The end of a turn, written by the turn's last act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from neuraphage.decide.children import files_written
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, PauseFor, Remark, Rest, StopAtLimit
from neuraphage.decide.hashing import conversation_prompt_id
from neuraphage.model.effect import EffectState, Marker, MarkerName
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Entry
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.ports import FinishTo, Settled, SuspendTo
from neuraphage.runtime.end_guard import judged_end
from neuraphage.runtime.people_step import PeopleStep
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


class TurnEnd:
    """Ends a turn whose calls are all settled.

    Args:
        services: the ports.
        work: the working copy.
        people: names the marker of a turn that waits.
    """

    def __init__(self, services: Services, work: UnitOfWork, people: PeopleStep) -> None:
        self._services = services
        self._work = work
        self._people = people

    def end(self, action: NextTurn | PauseFor | Complete | Fail | StopAtLimit | Rest) -> Settled:
        """Carry it out.

        Raises:
            LeaseLost, StoreUnavailable: as UnitOfWork.finish.
        """
        work = self._work
        if not isinstance(action, StopAtLimit):
            work.note(events=[Event(kind=EventKind.ANOMALY_DETECTED, data=one.model_dump()) for one in action.seen])
        if isinstance(action, NextTurn | Complete | Rest):
            action = judged_end(self._services, work, action)
        match action:
            case NextTurn():
                if action.say is not None:
                    self._say(action.say)
                self._remark(action.remarks)
                return work.finish(FinishTo.NEXT)
            case PauseFor():
                self._remark(action.remarks)
                return work.suspend(SuspendTo.ANOMALY, detail=action.anomaly.model_dump())
            case Complete():
                return work.finish(FinishTo.COMPLETED, {"summary": action.summary, **self._files()})
            case StopAtLimit():
                return work.finish(FinishTo.LIMITED, {"error": action.error, "recoverable": True})
            case Fail():
                if action.reply:
                    self._give_reply_up(action.error)
                self._remark(action.remarks)
                work.give_announced_up(action.error)
                told = {"error": action.error, "recoverable": action.recoverable}
                return work.finish(FinishTo.FAILED, {**told, **self._files()})
            case Rest():
                return self._rest(action.text)
            case _:
                assert_never(action)

    def _files(self) -> dict[str, Any]:
        """What a parent is told beside the words."""
        is_child = self._work.record.spec.parent_id is not None
        return {"files": list(files_written(self._work.entries))} if is_child else {}

    def _give_reply_up(self, error: str) -> None:
        """Note the last reply as a failed call, so that a retry asks for another one instead of reading it again."""
        entry = self._work.model_effect
        if entry is None:
            raise AssertionError("a turn without a call of the model has no reply")
        given_up = entry.model_copy(
            update={"state": EffectState.FAILED, "fence": self._work.held.lease.fence, "error": error}
        )
        marker = Marker(name=MarkerName.REQUEST_SENT, request_id=entry.request_id)
        self._work.note(journal=[given_up], marker=marker)

    def _say(self, text: str) -> None:
        turn = self._work.record.counters.iteration
        self._work.note(entries=[Entry(role="user", content=[{"type": "text", "text": text}], turn=turn)])

    def _remark(self, remarks: Sequence[Remark]) -> None:
        turn = self._work.record.counters.iteration
        entries = [
            Entry(role="user", content=[{"type": "text", "text": one.text}], turn=turn, anomaly=one.note)
            for one in remarks
        ]
        self._work.note(entries=entries)

    def _rest(self, text: str) -> Settled:
        """It is the person's turn to talk."""
        record = self._work.record
        prompt = Prompt(
            prompt_id=conversation_prompt_id(record.task_id, record.counters.iteration),
            kind=PromptKind.CONVERSATION,
            text=text,
            opened_at_ms=self._work.now_ms(),
        )
        self._work.open_prompts([prompt])
        self._work.note(marker=self._people.marker())
        return self._work.finish(FinishTo.WAIT, {"prompts": [{"id": prompt.prompt_id, "kind": prompt.kind.value}]})

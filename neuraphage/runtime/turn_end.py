"""The end of a turn: what its reply and its calls came to, written by the turn's last act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.decide.control import ending
from neuraphage.decide.conversation import CONTINUE_TEXT, final_text
from neuraphage.decide.hashing import conversation_prompt_id
from neuraphage.decide.replies import ReplyEnd, end_of, nudge, streak, why_failed
from neuraphage.model.effect import MODEL_ENTRY, EffectState, Marker, MarkerName
from neuraphage.model.message import Entry
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import Mode
from neuraphage.model.tool import ControlKind, ToolCall
from neuraphage.ports import FinishTo, Settled
from neuraphage.runtime.people_step import PeopleStep
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

SUMMARY_CHARS = 10_000


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

    def end(self, calls: Sequence[ToolCall], problems: Mapping[str, str]) -> Settled:
        """Complete, fail, wait, or go on with another turn.

        Args:
            calls: of the turn's reply.
            problems: tool_use id -> why a call could not be run at all.

        Raises:
            LeaseLost, StoreUnavailable: as UnitOfWork.finish.
        """
        work, settings = self._work, self._services.settings
        ended = self._ended_by_tool(calls, problems)
        if ended is not None:
            return ended
        stop_reason = work.journal[MODEL_ENTRY].stop_reason
        end = end_of(self._reply(), stop_reason)
        counted = streak(work.entries)
        over = counted.cut > settings.max_continues or counted.empty > settings.max_empty_replies
        if end is ReplyEnd.FAIL or over:
            return self._fail_reply(why_failed(stop_reason, counted, end))
        match end:
            case ReplyEnd.REST:
                return self._rest()
            case ReplyEnd.CONTINUE:
                self._say(CONTINUE_TEXT)
            case ReplyEnd.ASK_AGAIN:
                self._say(nudge(stop_reason))
        return work.finish(FinishTo.NEXT)

    def fail(self, error: str, *, recoverable: bool) -> Settled:
        """Fail the task."""
        return self._work.finish(FinishTo.FAILED, {"error": error, "recoverable": recoverable})

    def _reply(self) -> list[dict[str, object]]:
        """The blocks of this turn's reply; a release before this one stored no entry of an empty one."""
        for stored in reversed(self._work.entries):
            if stored["role"] == "assistant":
                mine = stored.get("turn") == self._work.record.counters.iteration
                return list(stored["content"]) if mine else []
        return []

    def _fail_reply(self, error: str) -> Settled:
        """Fail the task because of its last reply, so that a retry asks for another one instead of reading it again."""
        entry = self._work.journal[MODEL_ENTRY]
        given_up = entry.model_copy(
            update={"state": EffectState.FAILED, "fence": self._work.held.lease.fence, "error": error}
        )
        marker = Marker(name=MarkerName.REQUEST_SENT, request_id=entry.request_id)
        self._work.note(journal=[given_up], marker=marker)
        return self.fail(error, recoverable=True)

    def _ended_by_tool(self, calls: Sequence[ToolCall], problems: Mapping[str, str]) -> Settled | None:
        tools = self._services.declarations
        call = ending(calls, tools, problems, self._work.journal)
        if call is None:
            return None
        if tools[call.name].control is ControlKind.COMPLETE_TASK:
            return self._work.finish(FinishTo.COMPLETED, {"summary": _words(call, "summary")})
        return self.fail(_words(call, "reason"), recoverable=True)

    def _say(self, text: str) -> None:
        turn = self._work.record.counters.iteration
        self._work.note(entries=[Entry(role="user", content=[{"type": "text", "text": text}], turn=turn)])

    def _rest(self) -> Settled:
        """The model has nothing more to do: completed, or the person's turn to talk (K8)."""
        text = final_text(self._reply())
        if self._work.record.spec.mode is Mode.AUTONOMOUS:
            return self._work.finish(FinishTo.COMPLETED, {"summary": text[:SUMMARY_CHARS]})
        record = self._work.record
        prompt = Prompt(
            prompt_id=conversation_prompt_id(record.task_id, record.counters.iteration),
            kind=PromptKind.CONVERSATION,
            text=text[:SUMMARY_CHARS],
            opened_at_ms=self._work.now_ms(),
        )
        self._work.open_prompts([prompt])
        self._work.note(marker=self._people.marker())
        return self._work.finish(FinishTo.WAIT, {"prompts": [{"id": prompt.prompt_id, "kind": prompt.kind.value}]})


def _words(call: ToolCall, name: str) -> str:
    return str(call.params.get(name, ""))[:SUMMARY_CHARS]

"""What is decided about calls: what that is bound to, as a call would find it now, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuraphage.decide.answers import PermissionAnswer
from neuraphage.decide.approved_file import approved_file, as_evidence
from neuraphage.decide.files_seen import SeenFile, files_seen
from neuraphage.decide.host_requests import with_reach
from neuraphage.decide.rules.reading import MOST_CHARS
from neuraphage.decide.sealing import as_asked, seal
from neuraphage.decide.shorten import shorten
from neuraphage.model.effect import Permission, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.prompt import InboxItem, Prompt
from neuraphage.model.rule import Rule
from neuraphage.model.tool import FileSight, SightKind, ToolCall
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork

BY_RULE = "rule"
"""Who decided about a call that nobody was asked about."""
PERMISSION_EVENTS = {
    Permission.GRANTED: EventKind.PERMISSION_GRANTED,
    Permission.DENIED: EventKind.PERMISSION_DENIED,
}
SAID_CHARS = 200
"""Of an answer in the history."""
OTHER_FILE, OTHER_RULES = "its file has changed", "the rules or the tool have changed"
NOT_TAKEN = "The change was not taken"

_UNDECIDED = {
    **dict.fromkeys(("permission", "permission_by", "digest", "prompt_id", "evidence", "edited")),
    "put_back": False,  # the evidence of its former start is gone
}


class Seals:
    """Digests of the calls of one turn, and what was decided about them.

    Args:
        services: the ports.
        work: the working copy.
        tools: knows declarations.
        rules: those in force for the task.
    """

    def __init__(self, services: Services, work: UnitOfWork, tools: ToolStep, rules: Sequence[Rule]) -> None:
        self._services = services
        self._work = work
        self._tools = tools
        self._rules = rules

    def digest(self, call: ToolCall) -> str:
        """What an approval of this call would be bound to now."""
        files, approved = self._files(call), approved_file(self._work.tool_effect(call.tool_use_id))
        seen: dict[str, SeenFile] = {} if approved is None else files_seen(self._work.entries)
        declaration = with_reach(self._tools.tool(call)[1], self._tools.reach())
        return seal(declaration, call.params, [as_asked(file, approved, seen) for file in files], self._rules)

    def evidence(self, call: ToolCall) -> dict[str, object] | None:
        """The file that a call changes, as the journal keeps it from the asking on; None without one."""
        change = self._tools.tool(call)[1].traits.change
        state = None if change is None else self._sight(call, change.path)
        return None if state is None else as_evidence(state)

    def void(self, call: ToolCall) -> None:
        """Note that an approval does not hold: the call is judged, and perhaps asked about, as it is now."""
        entry = self._work.tool_effect(call.tool_use_id)
        if entry is None:
            raise AssertionError(f"an approval of a call without an entry: {call.tool_use_id}")
        why = self._what_differs(call, entry)
        data = {"tool": call.name, "id": call.tool_use_id, "digest": entry.digest, "why": why}
        self._work.note(
            journal=[entry.model_copy(update={**_UNDECIDED, "voided": f"It was allowed before, but {why} since."})],
            events=[Event(kind=EventKind.PERMISSION_VOIDED, data=data)],
        )

    def refuse_edit(self, call: ToolCall, entry: ToolEffect, problem: str | None) -> None:
        """Note that a call was not changed as a person wanted, and is asked about as the model made it.

        Args:
            call: as the model made it.
            entry: of it.
            problem: what is wrong with the changed one; None where the world has changed since the asking.
        """
        why = problem or self._what_differs(call, entry)
        data = {"tool": call.name, "id": call.tool_use_id, "digest": None, "why": why}
        told = f"{NOT_TAKEN}: {why}" if problem else f"{NOT_TAKEN}, since {why}."
        self._work.note(
            journal=[entry.model_copy(update={**_UNDECIDED, "voided": told})],
            events=[Event(kind=EventKind.PERMISSION_VOIDED, data=data)],
        )

    def decided(self, call: ToolCall, permission: Permission, rules: Sequence[Rule]) -> None:
        """Note that rules have decided about a call, and about what; nothing where none has."""
        if not rules:
            return
        sources = dict.fromkeys(rule.source.value for rule in rules)
        said = {"by": BY_RULE, "rule": "; ".join(map(str, rules))[:MOST_CHARS], "source": ", ".join(sources)}
        of_call = {"tool": call.name, "id": call.tool_use_id}
        events = [Event(kind=PERMISSION_EVENTS[permission], data={**of_call, **said, "digest": self.digest(call)})]
        if permission is Permission.DENIED:
            against = {**of_call, "by": said["rule"], "source": said["source"]}
            events.append(Event(kind=EventKind.SECURITY_VIOLATION, data=against))
        self._work.note(events=events)

    def _what_differs(self, call: ToolCall, entry: ToolEffect) -> str:
        approved, seen = approved_file(entry), files_seen(self._work.entries)
        if approved is None:
            return OTHER_RULES
        now = [as_asked(file, approved, seen) for file in self._files(call)]
        return OTHER_RULES if any(file.sha256 == approved.sha256 for file in now) else OTHER_FILE

    def _files(self, call: ToolCall) -> list[FileSight]:
        traits = self._tools.tool(call)[1].traits
        changed = (traits.change.path,) if traits.change is not None else ()
        written = _files_of(call, dict.fromkeys((*changed, *traits.writes)))
        read = _files_of(call, (name for name in traits.reads if name not in written))
        found = [self._sight(call, name) or _unseen(path) for name, path in written.items()]
        places = [self._sight(call, name) or _unseen(path) for name, path in read.items()]
        return [*found, *(place.model_copy(update={"sha256": None}) for place in places)]

    def _sight(self, call: ToolCall, name: str) -> FileSight | None:
        path = call.params.get(name)
        declaration = self._tools.tool(call)[1]
        if not isinstance(path, str):
            return None
        return self._services.files.sight(path, self._tools.context(call, declaration, 0))


def requested(prompt: Prompt) -> Event:
    """The event that tells of a permission prompt, for the write that opens it."""
    data = {"tool": prompt.tool, "id": prompt.tool_use_id, "prompt": prompt.prompt_id, "digest": prompt.digest}
    return Event(kind=EventKind.PERMISSION_REQUEST, data={**data, "deadline_ms": prompt.deadline_ms})


def author(item: InboxItem, prompt: Prompt, answer: PermissionAnswer) -> dict[str, str]:
    """Who gave an answer to what, and which, as an event tells it; the answer has no secrets any more."""
    who = {} if item.who is None else {"who": item.who}
    return {"by": item.by, **who, "prompt": prompt.prompt_id, "answer": shorten(str(answer), SAID_CHARS)}


def _files_of(call: ToolCall, names: Iterable[str]) -> dict[str, str]:
    """Paths that a call gives by these parameters."""
    return {name: path for name in names if isinstance(path := call.params.get(name), str)}


def _unseen(path: str) -> FileSight:
    """A place that cannot be looked at stands as it was given."""
    return FileSight(path=path, kind=SightKind.READ, sha256=None)

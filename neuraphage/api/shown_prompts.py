"""What a person is shown of open prompts: one text for every surface, whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from neuraphage.api.context_window import ContextWindow
from neuraphage.model.tool import ControlKind

if TYPE_CHECKING:
    from neuraphage.api.transcript import Call, Transcript
    from neuraphage.decide.seen_text import Line
    from neuraphage.model.prompt import Prompt
    from neuraphage.model.shown import ShownPrompt
    from neuraphage.model.task import TaskRecord

RECENT_ENTRIES = 30
"""The end of a conversation, in which the calls of an open reply nearly always are. All of it is read where they are
not, or where only an earlier call tells what a file holds.
"""


class ShownPrompts(ContextWindow):
    """Open prompts with all of what they ask."""

    def shown_prompts(self, record: TaskRecord) -> tuple[ShownPrompt, ...]:
        """The open prompts of a task as a person is to see them, in their order.

        The end of the conversation is read, and where it must be all of it; the journal where a permission is open;
        and files of the working directory, as far as that is on this machine.

        Args:
            record: of the task.

        Raises:
            TaskNotFound, StoreUnavailable, StoreError: see `get`.
        """
        if not record.prompts:
            return ()
        changed, calls = self.changed_since_asked(record), self._calls(record)
        return tuple(
            self._shown(record, one, calls.get(one.tool_use_id or ""), is_changed=one.tool_use_id in changed)
            for one in record.prompts
        )

    def _calls(self, record: TaskRecord) -> Mapping[str, Call]:
        wanted = {prompt.tool_use_id for prompt in record.prompts if prompt.tool_use_id}
        if not wanted:
            return {}
        from neuraphage.api.transcript import Transcript  # noqa: PLC0415 - as above

        read = partial(self.conversation, record.task_id)
        entries = read(first=-RECENT_ENTRIES)
        calls = _found(Transcript(lambda first: entries[first:], self._ports.traits), wanted)
        if len(entries) < RECENT_ENTRIES:
            return calls
        if len(calls) == len(wanted) and not any(self._needs_past(call, record) for call in calls.values()):
            return calls
        return _found(Transcript(lambda first: read(first=first), self._ports.traits), wanted)

    def _needs_past(self, call: Call, record: TaskRecord) -> bool:
        """Whether only the conversation can tell what the call changes."""
        change, files = self._ports.traits(call.tool).change, self._ports.files
        if change is None:
            return False
        place = (str(call.params.get(change.path, "")), record.spec.working_dir)
        return files.text(*place) is None and not files.is_absent(*place)

    def _shown(self, record: TaskRecord, prompt: Prompt, call: Call | None, *, is_changed: bool) -> ShownPrompt:
        from neuraphage.decide.seen_text import spelled, spelled_lines  # noqa: PLC0415 - as above
        from neuraphage.model.shown import ShownPrompt  # noqa: PLC0415 - as above

        params = None if call is None else call.params
        if prompt.tool == ControlKind.ASK_USER:  # a long question is shortened where it is stored with the prompt
            question = prompt.text if params is None else str(params.get("question", ""))
            return ShownPrompt(prompt, spelled(question), params=params)
        question, folder = spelled(prompt.text), spelled(record.spec.working_dir or "").replace("\n", "<U+000A>")
        if call is not None:
            lines = tuple(self._lines(record, call))
            return ShownPrompt(
                prompt, question, folder, lines, params, is_changed=is_changed, directory=record.spec.working_dir
            )
        if prompt.params_summary is None:
            return ShownPrompt(prompt, question)
        first, *more = f"> {prompt.tool} {prompt.params_summary}".split("\n")
        summary = spelled_lines([(first, ""), *((f"  {line}", "") for line in more)])
        is_whole = prompt.tool_use_id is None and not prompt.params_summary
        return ShownPrompt(prompt, question, folder, tuple(summary), is_whole=is_whole, is_changed=is_changed)

    def _lines(self, record: TaskRecord, call: Call) -> Sequence[Line]:
        from neuraphage.decide.call_lines import AskedCall, call_lines, path_parameters  # noqa: PLC0415 - as above

        traits, files, folder = self._ports.traits(call.tool), self._ports.files, record.spec.working_dir
        before, is_absent = call.before, False
        if traits.change is not None:  # as it is now, if it is on this machine: the write has not been made
            place = (str(call.params.get(traits.change.path, "")), folder)
            is_absent, now = files.is_absent(*place), files.text(*place)
            before = now if now is not None or is_absent else before
        given = path_parameters(traits, call.params) if folder else {}
        places = {name: files.place(path, folder or "") for name, path in given.items()}
        return call_lines(AskedCall(call.tool, call.params, traits, before, is_absent, places))


def _found(transcript: Transcript, wanted: set[str]) -> dict[str, Call]:
    return {one: call for one in wanted if (call := transcript.call(one)) is not None}

"""What people say to tasks: messages, and answers to what they ask."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from neuraphage.api.base import ApiBase
from neuraphage.errors import NeuraphageError, PromptNotOpen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuraphage.api.checking import Attachable
    from neuraphage.decide.fate import Fate
    from neuraphage.model.attachment import Attachment
    from neuraphage.model.event import Event
    from neuraphage.ports import Signalled


class People(ApiBase):
    """Messages and answers. See `Tasks` for arguments and errors of each request."""

    def send(
        self, task_id: str, text: str, *, key: str | None = None, attachments: Iterable[Attachable] = ()
    ) -> Signalled:
        """Send a message to the model; it is read with the next request. A completed task goes on with it.

        The limit of turns counts anew from a message that finds the task completed, or waiting for one.

        Args:
            text: the message.
            attachments: images and documents that the model is shown with it; see `submit`.

        Raises:
            IllegalMove: the task has failed or was cancelled.
            LimitReached: the task is completed and has spent its money; raise its limit first.
            BadInput: the text is empty or too long, or too many messages are unread. Else see the class.
        """
        full_id, service, given = self.find(task_id), self._service, tuple(attachments)
        shown: tuple[Attachment, ...] = ()
        if given:
            from neuraphage.api.checking import attached  # noqa: PLC0415 - few messages have some
            from neuraphage.decide.attachments import held_sizes  # noqa: PLC0415 - as above

            shown = attached(self.settings, given, held_sizes(self._ports.reads.conversation(full_id, 0)))
        return service.send(full_id, text, key, shown)

    def answer(self, task_id: str, text: str, *, prompt_id: str | None = None, key: str | None = None) -> Signalled:
        """Answer an open prompt.

        Args:
            text: the answer; a permission prompt takes yes, no, always or never, `no: WORDS` which the model is told,
                `always: PATTERN` for such calls of the task, `always here: PATTERN` of its directory, `always me:
                PATTERN` of all your tasks, or `edit: {JSON}` with parameters that take the place of the call's own,
                by name; a question one of its options or the number of one.
            prompt_id: which prompt, by id or a unique beginning of at least four characters. A permission is answered
                by it only; a question needs none when no other prompt is open.

        Raises:
            PromptNotOpen: no such prompt is open: it was answered, timed out, or never asked; the message says who
                answered what and when.
            IllegalMove: the task is over.
            BadInput: no prompt is named where one must be, several fit, or the answer is none of the options.
                Else see the class.
        """
        full_id = self.find(task_id)
        try:
            return self._service.answer(full_id, prompt_id, text, key)
        except PromptNotOpen as error:
            fate = None
            if prompt_id is not None:
                with contextlib.suppress(NeuraphageError):  # the answer was refused, whatever else can be told
                    fate = self.became_of(full_id, prompt_id)
            raise PromptNotOpen(f"{error}. What became of {prompt_id}: {fate}." if fate else str(error)) from None

    def became_of(self, task_id: str, prompt_id: str) -> Fate | None:
        """What became of a prompt: who answered what and when, or that nobody had.

        Args:
            task_id: the task.
            prompt_id: the prompt, by id or a unique beginning of at least four characters.

        Returns:
            It; None where the prompt is open, or where the history knows of no such prompt.

        Raises:
            TaskNotFound, BadInput, StoreUnavailable, StoreError: see `get`.
        """
        from neuraphage.decide.asking import named  # noqa: PLC0415 - few callers come late
        from neuraphage.decide.fate import fate_of  # noqa: PLC0415 - as above

        full_id = self.find(task_id)
        fate = fate_of(self._all_events(full_id), prompt_id)
        # an answer that no turn has taken yet: the record still holds the prompt
        is_open = fate is not None and fate.by is None and named(self._ports.reads.get(full_id).prompts, prompt_id)
        return None if is_open else fate

    def _all_events(self, task_id: str) -> Iterator[Event]:
        after: str | None = "0"
        while after is not None:
            found = self._ports.reads.events(task_id, after=after)
            yield from found
            after = found[-1].event_id if found else None

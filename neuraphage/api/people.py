"""What people say to tasks: messages, and answers to what they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuraphage.api.base import ApiBase

if TYPE_CHECKING:
    from neuraphage.ports import Signalled


class People(ApiBase):
    """Messages and answers. See `Tasks` for arguments and errors of each request."""

    def send(self, task_id: str, text: str, *, key: str | None = None) -> Signalled:
        """Send a message to the model; it is read with the next request. A completed task goes on with it.

        The limit of turns counts anew from a message that finds the task completed, or waiting for one.

        Args:
            text: the message.

        Raises:
            IllegalMove: the task has failed or was cancelled.
            LimitReached: the task is completed and has spent its money; raise its limit first.
            BadInput: the text is empty or too long, or too many messages are unread. Else see the class.
        """
        return self._service.send(self.find(task_id), text, key)

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
            PromptNotOpen: no such prompt is open: it was answered, timed out, or never asked.
            IllegalMove: the task is over.
            BadInput: no prompt is named where one must be, several fit, or the answer is none of the options.
                Else see the class.
        """
        return self._service.answer(self.find(task_id), prompt_id, text, key)

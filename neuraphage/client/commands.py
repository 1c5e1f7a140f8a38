"""What a client asks of tasks that are there: send, answer, pause, resume, cancel, retry, reset, limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuraphage.client.submitting import TaskSubmitter
from neuraphage.decide.limits import limit_change

if TYPE_CHECKING:
    from neuraphage.ports import Signalled


class TaskCommands(TaskSubmitter):
    """Every request that changes a task. `Client` adds the reads.

    Args of each request: `task_id` is the task's id or any unique part of it; `key` is an idempotency key, a repeat
    under the same one changes nothing. Each returns the verdict, ACCEPTED or REPEATED, and where the task stands then.

    Raises of each request:
        TaskNotFound: there is no such task.
        IllegalMove: it stands where it takes no such request; the message names what goes on with it.
        BadInput: several tasks fit.
        StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same key.
    """

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
            text: the answer; a permission prompt takes yes, no, always or never, a question one of its options or the
                number of one.
            prompt_id: which prompt, by id or a unique beginning of at least four characters. A permission is answered
                by it only; a question needs none when no other prompt is open.

        Raises:
            PromptNotOpen: no such prompt is open: it was answered, timed out, or never asked.
            IllegalMove: the task is over.
            BadInput: no prompt is named where one must be, several fit, or the answer is none of the options.
                Else see the class.
        """
        return self._service.answer(self.find(task_id), prompt_id, text, key)

    def pause(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Stop after the step in hand, until resumed.

        Raises:
            IllegalMove: the task is over or paused. Else see the class.
        """
        return self._service.pause(self.find(task_id), key)

    def resume(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Go on with a paused task.

        Raises:
            IllegalMove: the task is not paused.
            LimitReached: it would fail at once; nothing was changed. Raise its limit first. Else see the class.
        """
        return self._service.resume(self.find(task_id), key)

    def cancel(self, task_id: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """End a task; a running effect is stopped.

        Args:
            reason: kept with the task.

        Raises:
            IllegalMove: the task is over. Else see the class.
        """
        return self._service.cancel(self.find(task_id), reason, key)

    def retry(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Go on with a failed task from its last step.

        Args:
            max_turns: limit of turns from now on; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.

        Raises:
            IllegalMove: the task has not failed, or a repeat cannot help it.
            LimitReached: it would fail at once; nothing was changed. Give a higher limit.
            BadInput: a limit is out of its range. Else see the class.
        """
        return self._service.retry(self.find(task_id), key, limit_change(max_turns, max_cost_usd))

    def reset(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Start a failed task anew; its conversation is archived. Turns count anew, its cost counts on.

        Args:
            max_turns: limit of turns from now on; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.

        Raises:
            IllegalMove: the task has not failed.
            LimitReached: it would fail at once; nothing was changed. Give a higher limit.
            BadInput: a limit is out of its range. Else see the class.
        """
        return self._service.reset(self.find(task_id), key, limit_change(max_turns, max_cost_usd))

    def limit(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Set the limits of a task, from its next model call on. One that has failed at a limit still needs `retry`.

        Args:
            max_turns: limit of turns; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.

        Raises:
            IllegalMove: the task was cancelled.
            BadInput: no limit is given, or one is out of its range. Else see the class.
        """
        return self._service.limit(self.find(task_id), limit_change(max_turns, max_cost_usd), key)

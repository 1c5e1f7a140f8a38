"""Words that a person types in a conversation for the client, and not for the model."""

from __future__ import annotations

from neuraphage.api import Api
from neuraphage.cli.context_command import context_lines
from neuraphage.cli.hints import typed_here
from neuraphage.cli.viewer import Viewer
from neuraphage.errors import IllegalMove, LimitReached
from neuraphage.model.task import Status, TaskRecord

PAUSE, CANCEL, RETRY, CONTEXT = "/pause", "/cancel", "/retry", "/context"
MOVES = frozenset({PAUSE, CANCEL})
"""Those after which the task does not wait for the next message any more. RETRY may be refused, and it waits on."""
WORDS = (PAUSE, CANCEL, RETRY, CONTEXT)
"""Each is one only when nothing else stands on the line; any other word with a slash is a message."""


class ClientWords:
    """Carries these words out.

    Args:
        api: to the task.
        viewer: says what came of one.
    """

    def __init__(self, api: Api, viewer: Viewer) -> None:
        self._api = api
        self._viewer = viewer

    def take(self, record: TaskRecord, typed: str) -> bool:
        """Act on a line, if it is one of these words; returns whether it was."""
        word = typed.strip()
        if word not in WORDS:
            return False
        try:
            for line in self._done(record, word).splitlines():
                self._viewer.line(f"  {line}", "dim")
        except (IllegalMove, LimitReached) as error:
            self._viewer.line(f"  {typed_here(str(error))}", "yellow")
        return True

    def _done(self, record: TaskRecord, word: str) -> str:
        match word:
            case "/pause":
                self._api.pause(record.task_id)
                return "paused; what you write is read once it is resumed"
            case "/cancel":
                self._api.cancel(record.task_id, reason="by a person in the conversation")
                return "cancelling"
            case "/context":
                return "\n".join(context_lines(self._api.context_size(record.task_id)))
            case _:
                return self._retry(record)

    def _retry(self, record: TaskRecord) -> str:
        """A task that has failed is retried, as by the command; else the reply that the person has seen."""
        now = self._api.get(record.task_id)
        if now.status is Status.FAILED:
            self._api.retry(record.task_id)
            return "retrying"
        if now.seq != record.seq:  # somebody else was faster: it is not the reply that was meant
            raise IllegalMove("it has gone on meanwhile, so nothing was retried")
        self._api.retry_reply(record.task_id)
        return "the reply is superseded; the model is asked again"

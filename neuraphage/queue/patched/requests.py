"""Messages in hand of a worker: sweeps that tell Flower of themselves only if there is something to tell, and turns
whose end in Celery is one of the task.

Changes: `send_event` and `terminate` of a Celery request, in classes that our Celery tasks name as their `Request`.
Why: there is a sweep every few seconds, and those that had nothing to do would hide the turns. Terminating kills the
process that runs a message, and other turns with it; a pool of threads cannot do so at all.
Read against: Celery 5.7.0.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from celery.worker.request import Request


class QuietRequest(Request):  # type: ignore[misc]  # Celery carries no types
    """A message whose events are sent at its end, if its result tells of something."""

    idle: ClassVar[tuple[str, ...]] = ()
    """Words in a result that there was nothing to do."""

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as Celery calls it
        """See Celery's Request. The task itself is declared to send none, or its arrival would be told."""
        events = self.eventer
        if not (events and events.enabled) or type == "task-started":
            return
        if type == "task-succeeded" and any(word in str(fields.get("result")) for word in self.idle):
            return
        events.send(
            "task-received", uuid=self.id, name=self.name, args=self.argsrepr, kwargs=self.kwargsrepr, retries=0
        )
        events.send(type, uuid=self.id, **fields)


class EndedRequest(Request):  # type: ignore[misc]  # Celery carries no types
    """A message that is ended by `end`, where Celery would kill a process."""

    @staticmethod
    @abstractmethod
    def end(args: Any) -> None:
        """Carry it out.

        Args:
            args: of the message.
        """

    def terminate(self, pool: Any, signal: Any = None) -> None:  # noqa: ARG002 - as Celery calls it
        """See Celery's Request."""
        self.end(self.args)

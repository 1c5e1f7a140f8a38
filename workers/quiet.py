"""Sweeps in Flower: there is one every few seconds, and one that had nothing to do would only hide the turns."""

from __future__ import annotations

from typing import Any

from celery.worker.request import Request

from neuraphage.runtime.sweep import IDLE


class SweepRequest(Request):  # type: ignore[misc]  # Celery carries no types
    """A sweep's message in hand of a worker: its events are sent at its end, if there is something to tell."""

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as Celery calls it
        """See Celery's Request. The task itself is declared to send none, or its arrival would be told."""
        events = self.eventer
        if not (events and events.enabled) or type == "task-started":
            return
        if type == "task-succeeded" and any(word in str(fields.get("result")) for word in IDLE):
            return
        events.send(
            "task-received", uuid=self.id, name=self.name, args=self.argsrepr, kwargs=self.kwargsrepr, retries=0
        )
        events.send(type, uuid=self.id, **fields)

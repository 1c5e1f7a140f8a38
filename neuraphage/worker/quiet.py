"""Sweeps in Flower: there is one every few seconds, and one that had nothing to do would only hide the turns."""

from __future__ import annotations

from neuraphage.queue.patched.requests import QuietRequest
from neuraphage.runtime.observing import NOTHING, SKIPPED
from neuraphage.runtime.sweep import IDLE


class SweepRequest(QuietRequest):
    """A sweep's message in hand of a worker."""

    idle = tuple(IDLE)


class ObserveRequest(QuietRequest):
    """A message that has observers told of events."""

    idle = (NOTHING, SKIPPED)

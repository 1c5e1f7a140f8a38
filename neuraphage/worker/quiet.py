"""Sweeps in Flower: there is one every few seconds, and one that had nothing to do would only hide the turns."""

from __future__ import annotations

from neuraphage.queue.patched.requests import QuietRequest
from neuraphage.runtime.sweep import IDLE


class SweepRequest(QuietRequest):
    """A sweep's message in hand of a worker."""

    idle = tuple(IDLE)

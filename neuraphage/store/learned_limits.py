"""Limits that a provider tells of in its headers (learn.lua): for people, and for workers while little is left."""

from __future__ import annotations

from neuraphage.model.capacity import HeardLimits, LearnedLimits, ModelLimits
from neuraphage.store.capacity import heard_by, windows
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import dumps
from neuraphage.store.scripts import script

LEARNED_MS = 86_400_000
"""How long is known what a provider has said of its limits, while it says no more."""


def learn_limits(
    context: StoreContext,
    gate: str,
    told: LearnedLimits,
    at_ms: int,
    task_id: str = "",
    limits: ModelLimits | None = None,
    heard: HeardLimits | None = None,
) -> None:
    """See ports.CapacityStore."""
    given = windows(context, task_id, limits) | heard_by(gate, heard)
    given |= {"told": dumps({**told.model_dump(exclude_none=True), "at_ms": at_ms}), "learned_ms": LEARNED_MS}
    keys = context.keys
    of_gate = (keys.learned, keys.queue(gate), keys.used(gate), keys.gate(gate), keys.kept, keys.gates)
    script("learn").run(context, given, keys=of_gate)

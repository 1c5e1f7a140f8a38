"""What one call of a model takes of the limits of its key, before it is made: of limits that are set all that it may
use, of learned ones what it is expected to use."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.decide.expected_use import expected_input, expected_output, most_input
from neuraphage.model.capacity import CallShare, ModelLimits
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a call keeps.

    Args:
        in_force: all of them.
        configured: those that are set; None for none.
    """

    in_force: ModelLimits
    configured: ModelLimits | None

    def is_set(self, kind: str) -> bool:
        """Whether a kind is limited by what is set."""
        return self.configured is not None and getattr(self.configured, kind) is not None

    @property
    def learned(self) -> tuple[str, ...]:
        """Kinds whose limit was learned."""
        return tuple(kind for kind in self.in_force.model_dump(exclude_none=True) if not self.is_set(kind))


def share_of_reply(
    services: Services, work: UnitOfWork, limits: Limits, attempt: int, input_tokens: int = 0
) -> CallShare:
    """The share of a call for the turn's reply.

    Args:
        services: the ports.
        work: the working copy.
        limits: that it keeps.
        attempt: of the call.
        input_tokens: estimate of the request; 0 for the next one of the conversation.
    """
    record, tools, read = work.record, services.tool_definitions, input_tokens
    if not read and limits.is_set("input_tokens"):
        read = most_input(work.entries, tools)
    elif not read and limits.in_force.input_tokens is not None:
        read = expected_input(work.entries, tools, work.now_ms())
    wrote = record.spec.max_tokens
    if "output_tokens" in limits.learned:
        wrote = expected_output(record.counters, wrote)
    return CallShare(
        ticket=f"{record.resets}.{record.counters.iteration}.{attempt}",
        input_tokens=read,
        output_tokens=wrote,
        learned=limits.learned,
    )


def share_of_summary(
    services: Services, work: UnitOfWork, limits: Limits, attempt: int, input_tokens: int = 0
) -> CallShare:
    """The share of a call for a summary, of which a turn may make several; arguments as of `share_of_reply`."""
    record = work.record
    made = sum(entry.get("compaction") is not None for entry in work.entries)
    return CallShare(
        ticket=f"{record.resets}.{record.counters.iteration}.s{made}.{attempt}",
        input_tokens=input_tokens,
        output_tokens=services.context_bounds(record).summary_tokens,
        learned=limits.learned,
    )

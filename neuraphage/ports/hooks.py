"""The seam to hooks: what a turn asks of guards."""

from __future__ import annotations

from typing import Protocol

from neuraphage.model.hook import HookPoint, Judgement
from neuraphage.model.hook_payload import Payload
from neuraphage.ports.effects import Interrupt


class Guards(Protocol):
    """Guards of this process."""

    @property
    def points(self) -> frozenset[HookPoint]:
        """Where there are any; a turn asks at no other point."""
        ...

    def judge(self, payload: Payload, interrupt: Interrupt) -> Judgement:
        """Ask the guards of the payload's point, in the order of their registration.

        One that fails, hangs or says what its point does not know has blocked.

        Raises:
            CancelRequested, LeaseLost: from the interrupt.
        """
        ...


class NoGuards:
    """A process without guards."""

    @property
    def points(self) -> frozenset[HookPoint]:
        """See Guards."""
        return frozenset()

    def judge(self, payload: Payload, interrupt: Interrupt) -> Judgement:  # noqa: ARG002 - as the port has it
        """See Guards."""
        return Judgement()

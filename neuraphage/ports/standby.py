"""Who renews leases while the interpreter of a worker process is stuck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A lease as the one who stands in needs it.

    Args:
        task_id: the task.
        fence: of the lease; 0 while the answer to its claim is awaited.
        claim_id: of the lease.
        effect_since_s: when its effect began, boot time; None between effects.
    """

    task_id: str
    fence: int
    claim_id: str
    effect_since_s: float | None = None


class Standby(Protocol):
    """Renews what a process holds when the process itself is late, as long as that lives and is not stopped."""

    def start(self) -> None:
        """Begin; after a fork, never before. A failure is told and leaves the process without it."""
        ...

    def stop(self) -> None:
        """End at once."""
        ...

    def hold(self, row: HeldRow) -> None:
        """Take in a claim or a lease, in place of what was known of the same claim."""
        ...

    def let_go(self, claim_id: str) -> None:
        """Renew the lease of this claim no more; nothing where none is known."""
        ...

    def renewed(self, boottime_s: float) -> None:
        """Note that the process has renewed all its leases at that time (boot time, seconds)."""
        ...

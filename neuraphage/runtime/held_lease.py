"""A lease in use: what the server said of it, and how the effects that run under it are told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.ports import Clock, Lease
from neuraphage.proc.foreign_code import foreign_code


class HeldLease:
    """A lease in use. Implements Interrupt for the effects that run under it.

    Args:
        lease: as claimed.
        sent_at_boottime_s: local send time of the claim.
        lease_s: lease length.
        clock: local time.
        draining: asked whether the process is shutting down.
        on_effect: told when an effect begins or ends.
    """

    def __init__(
        self,
        lease: Lease,
        sent_at_boottime_s: float,
        lease_s: float,
        clock: Clock,
        draining: Callable[[], bool],
        on_effect: Callable[[], None] = lambda: None,
    ) -> None:
        self.lease = lease
        self.cancel = False
        self.pause = False
        self.lost = False
        self.settling = False
        """Whether suspend or finish is on its way: a renewal that finds the lease gone then means nothing."""
        self.detachable = False
        """Whether the effect in hand outlives this process: then a shutdown need not wait for it."""
        self._effect_since_s: float | None = None
        self._on_effect = on_effect
        self._lease_s = lease_s
        self._clock = clock
        self._draining = draining
        self._deadline_s = sent_at_boottime_s + lease_s
        self._wakes: set[Callable[[], None]] = set()
        self._lock = threading.Lock()

    @property
    def effect_since_s(self) -> float | None:
        """When the effect in hand began, boot time; None between effects. Set around all that may hang."""
        return self._effect_since_s

    @effect_since_s.setter
    def effect_since_s(self, since_s: float | None) -> None:
        self._effect_since_s = since_s
        self._on_effect()

    @contextmanager
    def in_foreign_code(self) -> Iterator[None]:
        """Code of others that is no effect (a check, a probe) may hang like one, and is bounded like one.

        Raises:
            ForeignCodeFailed: whatever it raised, as `foreign_code` has it.
        """
        self.effect_since_s = self._clock.boottime_s()
        try:
            with foreign_code():
                yield
        finally:
            self.effect_since_s = None

    def renewed(self, sent_at_boottime_s: float) -> None:
        """The server confirmed the lease; it runs on from the send time."""
        self._deadline_s = max(self._deadline_s, sent_at_boottime_s + self._lease_s)

    def may_start(self) -> bool:
        """Whether an effect may start: the lease certainly stands, by this machine's own clock."""
        return not self.lost and self._clock.boottime_s() < self._deadline_s

    def advance_token(self) -> None:
        """Note that a write of this claim was confirmed: the next one carries the next number."""
        self.lease = replace(self.lease, token=self.lease.token + 1)

    def flag(self, *, cancel: bool = False, pause: bool | None = None, lost: bool = False) -> None:
        """Note what the server said; wakes a blocked effect when it must stop."""
        with self._lock:
            self.cancel = self.cancel or cancel
            self.lost = self.lost or lost
            if pause is not None:
                self.pause = pause
            wakes = list(self._wakes) if self.cancel or self.lost else []
            self._wakes.difference_update(wakes)
        for wake in wakes:
            wake()

    def detaching(self) -> bool:
        """Whether the process shuts down and the effect in hand goes on without it."""
        return self.detachable and self._draining()

    def check(self) -> None:
        """See ports.Interrupt."""
        if self.lost or self.detaching():
            raise LeaseLost(self.lease.task_id)
        if self.cancel:
            raise CancelRequested(self.lease.task_id)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """See ports.Interrupt."""
        with self._lock:
            late = self.cancel or self.lost
            if not late:
                self._wakes.add(wake)
        if late:
            wake()
        return lambda: self._forget(wake)

    def _forget(self, wake: Callable[[], None]) -> None:
        with self._lock:
            self._wakes.discard(wake)

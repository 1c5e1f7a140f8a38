"""The heartbeat: one thread a process renews all its leases in one round trip.

It knows of no effect: a blocked tool or a silent model cannot stop it, and no viewer is needed to drive it.
Past an effect's longest duration it stops renewing that lease, and the process drains and exits, so that a
hung thread is not kept alive for ever.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from neuraphage.errors import CancelRequested, LeaseLost, StoreError
from neuraphage.ports import Clock, Lease, Presence, Renewal, TurnStore
from neuraphage.settings import Settings

log = logging.getLogger(__name__)


class HeldLease:
    """A lease in use. Implements Interrupt for the effects that run under it.

    Args:
        lease: as claimed.
        sent_at_boottime_s: local send time of the claim.
        lease_s: lease length.
        clock: local time.
        draining: asked whether the process is shutting down.
    """

    def __init__(
        self, lease: Lease, sent_at_boottime_s: float, lease_s: float, clock: Clock, draining: Callable[[], bool]
    ) -> None:
        self.lease = lease
        self.cancel = False
        self.pause = False
        self.lost = False
        self.settling = False
        """Whether suspend or finish is on its way: a renewal that finds the lease gone then means nothing."""
        self.detachable = False
        """Whether the effect in hand outlives this process: then a shutdown need not wait for it."""
        self.effect_since_s: float | None = None
        self._lease_s = lease_s
        self._clock = clock
        self._draining = draining
        self._deadline_s = sent_at_boottime_s + lease_s
        self._wakes: set[Callable[[], None]] = set()
        self._lock = threading.Lock()

    def renewed(self, sent_at_boottime_s: float) -> None:
        """The server confirmed the lease; it runs on from the send time."""
        self._deadline_s = max(self._deadline_s, sent_at_boottime_s + self._lease_s)

    def may_start(self) -> bool:
        """Whether an effect may start: the lease certainly stands, by this machine's own clock."""
        return not self.lost and self._clock.boottime_s() < self._deadline_s

    def advance_token(self) -> None:
        """A write of this claim was confirmed."""
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


class LeaseKeeper:
    """All leases of this process, and the thread that renews them.

    Args:
        store: renews.
        presence: the named connection; it also hears nudges.
        clock: local time.
        settings: heartbeat, lease and effect limits.
        on_overdue: called once, with the task id, when an effect is past its longest duration.
        parent_draining: whether the parent of a forked process is shutting down.
        on_beat: called with every heartbeat.
    """

    def __init__(
        self,
        store: TurnStore,
        presence: Presence,
        clock: Clock,
        settings: Settings,
        on_overdue: Callable[[str], None],
        parent_draining: Callable[[], bool] = lambda: False,
        on_beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_beat = on_beat
        self._parent_draining = parent_draining
        self._store = store
        self._presence = presence
        self._clock = clock
        self._settings = settings
        self._on_overdue = on_overdue
        self._held: dict[str, HeldLease] = {}
        self._overdue: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._drain = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neuraphage-heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread; after a fork, never before."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close the presence connection."""
        self._stop.set()
        self._presence.close()

    def drain(self) -> None:
        """Start nothing new from now on."""
        self._drain.set()

    def draining(self) -> bool:
        """Whether this process, or its parent, is shutting down."""
        return self._drain.is_set() or self._parent_draining()

    def held_count(self) -> int:
        """Leases in use, without overdue ones."""
        with self._lock:
            return len(self._held.keys() - self._overdue)

    @contextmanager
    def hold(self, lease: Lease, sent_at_boottime_s: float) -> Iterator[HeldLease]:
        """Keep a lease renewed while the block runs."""
        held = HeldLease(lease, sent_at_boottime_s, self._settings.lease_s, self._clock, self.draining)
        with self._lock:
            self._held[lease.claim_id] = held
        try:
            yield held
        finally:
            with self._lock:
                self._held.pop(lease.claim_id, None)
                self._overdue.discard(lease.claim_id)

    def renew_now(self) -> None:
        """Renew every lease that is not overdue; note flags and losses.

        Raises:
            StoreError: the server did not answer; nothing is known.
        """
        with self._lock:
            due = [held for claim, held in self._held.items() if claim not in self._overdue]
        due = [held for held in due if not self._past_limit(held)]
        if not due:
            return
        sent_at, answers = self._store.renew([held.lease for held in due])
        for held, answer in zip(due, answers, strict=True):
            self._note(held, answer, sent_at)

    def _note(self, held: HeldLease, answer: Renewal, sent_at: float) -> None:
        if answer.held:
            held.renewed(sent_at)
            held.flag(cancel=answer.cancel, pause=answer.pause)
            return
        with self._lock:
            still = held.lease.claim_id in self._held
        if still and not held.settling:
            log.warning(
                "lease lost: renew answered STALE", extra={"task": held.lease.task_id, "fence": held.lease.fence}
            )
            held.flag(lost=True)

    def _past_limit(self, held: HeldLease) -> bool:
        since = held.effect_since_s
        if since is None or self._clock.boottime_s() - since < self._settings.effect_max_s:
            return False
        with self._lock:
            self._overdue.add(held.lease.claim_id)
        log.error("effect is past effect_max_s; this process drains and exits", extra={"task": held.lease.task_id})
        self._on_overdue(held.lease.task_id)
        return True

    def _run(self) -> None:
        period = self._settings.heartbeat_s
        due = self._clock.boottime_s() + period
        while not self._stop.is_set():
            nudged = self._listen(max(0.01, min(due - self._clock.boottime_s(), period)))
            if (nudged or self._clock.boottime_s() >= due) and self._succeeds("heartbeat", self._beat):
                due = self._clock.boottime_s() + period

    def _beat(self) -> bool:
        self.renew_now()
        self._on_beat()
        return True

    def _listen(self, timeout_s: float) -> bool:
        """Wait for a nudge; leases are renewed also when the named connection is refused, again and again."""
        return self._succeeds("presence", lambda: self._presence.wait(timeout_s))

    def _succeeds(self, what: str, act: Callable[[], bool]) -> bool:
        """The answer of an act; False after a failure, which is told, and a short rest."""
        try:
            return act()
        except StoreError as error:
            log.warning("%s failed: %s", what, error)
        except Exception:  # the heartbeat must outlive every bug but say so
            log.exception("%s failed unexpectedly", what)
        self._stop.wait(min(0.25, self._settings.heartbeat_s))
        return False

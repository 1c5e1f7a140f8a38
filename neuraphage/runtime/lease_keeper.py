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
from functools import partial

from neuraphage.errors import StoreError
from neuraphage.ports import Clock, HeldRow, Lease, Presence, Renewal, Standby, TurnStore
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.settings import Settings

log = logging.getLogger(__name__)


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
        standby: renews while this interpreter is stuck.
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
        standby: Standby | None = None,
    ) -> None:
        self._on_beat = on_beat
        self._standby = standby
        self._claiming: dict[str, str] = {}
        """Claim id to task: claims whose answer is awaited."""
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
        if self._standby is not None:
            self._standby.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close the presence connection."""
        self._stop.set()
        self._presence.close()
        if self._standby is not None:
            self._standby.stop()

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
    def claiming(self, task_id: str, claim_id: str) -> Iterator[None]:
        """Claim a task in here: the lease is renewed also when the answer cannot be read for long."""
        with self._lock:
            self._claiming[claim_id] = task_id
            self._tell(claim_id)
        try:
            yield
        finally:
            with self._lock:
                self._claiming.pop(claim_id, None)
                self._tell(claim_id)

    def _tell(self, claim_id: str) -> None:
        """Tell who stands in of a claim as it is now; its caller has the lock."""
        if self._standby is None:
            return
        held = self._held.get(claim_id)
        if held is not None and claim_id not in self._overdue:
            self._standby.hold(HeldRow(held.lease.task_id, held.lease.fence, claim_id, held.effect_since_s))
        elif held is None and claim_id in self._claiming:
            self._standby.hold(HeldRow(self._claiming[claim_id], 0, claim_id))
        else:
            self._standby.let_go(claim_id)

    def _effect_changed(self, claim_id: str) -> None:
        with self._lock:
            self._tell(claim_id)

    @contextmanager
    def hold(self, lease: Lease, sent_at_boottime_s: float) -> Iterator[HeldLease]:
        """Keep a lease renewed while the block runs."""
        lease_s, claim_id = self._settings.lease_s, lease.claim_id
        on_effect = partial(self._effect_changed, claim_id)
        held = HeldLease(lease, sent_at_boottime_s, lease_s, self._clock, self.draining, on_effect)
        with self._lock:
            self._held[claim_id] = held
            self._tell(claim_id)
        try:
            yield held
        finally:
            with self._lock:
                self._held.pop(claim_id, None)
                self._overdue.discard(claim_id)
                if claim_id not in self._claiming:  # else it is told when the claim is over, at once
                    self._tell(claim_id)

    def renew_now(self) -> None:
        """Renew every lease that is not overdue; note flags and losses.

        Raises:
            StoreError: the server did not answer; nothing is known.
        """
        with self._lock:
            due = [held for claim, held in self._held.items() if claim not in self._overdue]
        due = [held for held in due if not self._past_limit(held)]
        sent_at = self._clock.boottime_s()
        if due:
            sent_at, answers = self._store.renew([held.lease for held in due])
            for held, answer in zip(due, answers, strict=True):
                self._note(held, answer, sent_at)
        if self._standby is not None:
            self._standby.renewed(sent_at)

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
            self._tell(held.lease.claim_id)
        log.error("effect is past effect_max_s; this process drains and exits", extra={"task": held.lease.task_id})
        self._on_overdue(held.lease.task_id)
        return True

    def _run(self) -> None:
        period = self._settings.heartbeat_s
        due = self._clock.boottime_s() + period
        while not self._stop.is_set():
            nudged = self._listen(max(0.01, due - self._clock.boottime_s()))
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

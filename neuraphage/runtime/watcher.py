"""The watcher: makes an ordinary death cost well under a second.

One elected watcher a host looks at the presence connections every 100 ms; when it is silent, the others look for it,
about once a second. A process of this host whose connection is gone is confirmed by pid and start time,
and its leases are recovered at once. Processes of other hosts count as gone after `absent_host_s` of absence;
on absence alone the watcher acts only when it has itself been connected for one lease.
"""

from __future__ import annotations

import logging
import threading

from neuraphage.errors import SpoolError, StoreError
from neuraphage.model.recovery import Evidence
from neuraphage.ports import Clock, NoNotices, ProcessRow, PromptNotices, SpoolWatch, SweepStore
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.fork_guard import GUARD
from neuraphage.runtime.host import ProcessIdentity, process_gone
from neuraphage.runtime.sweep import BATCH, Sweep, sweep_quietly
from neuraphage.setting_values import RecoveryPolicy
from neuraphage.settings import Settings

log = logging.getLogger(__name__)

SWEEP_OVERDUE_INTERVALS = 3
"""When no sweep has run for so many intervals, the watcher runs it itself."""
SPOOL_EXPIRY_INTERVAL_S = 3_600.0
"""Records of ended commands are looked through once an hour."""


class Watcher:
    """Looks for dead processes and due timers.

    Args:
        store: processes and leases.
        sweep: recovers, fires and publishes.
        clock: local time.
        settings: times and policy.
        host: identity of this host.
        election: one watcher a host.
        spool: commands of this host; None when there are none to watch.
        notices: tells people of prompts; None for nobody.
    """

    def __init__(
        self,
        store: SweepStore,
        sweep: Sweep,
        clock: Clock,
        settings: Settings,
        host: str,
        election: HostElection,
        spool: SpoolWatch | None = None,
        notices: PromptNotices | None = None,
    ) -> None:
        self._notices = notices or NoNotices()
        self._next_notices_s = 0.0
        self._spool = spool
        self._next_spool_look_s = 0.0
        self._next_expiry_s = 0.0
        self._store = store
        self._sweep = sweep
        self._clock = clock
        self._settings = settings
        self._host = host
        self._election = election
        self._absent_since_s: dict[str, float] = {}
        self._connected_since_s: float | None = None
        self._next_overdue_check_s = 0.0
        self._stopping = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neuraphage-watcher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and give the election back."""
        self._stopping = True
        self._wake.set()
        self._election.resign()

    def resign(self) -> None:
        """Close the election lock; in a forked child, where an inherited one would outlive a parent that is killed."""
        self._election.resign()

    def child_lost(self) -> None:
        """A child of this process died: recover what it held at once, elected or not (from any thread)."""
        self._wake.set()

    def look(self) -> int:
        """Look once.

        Returns:
            How many processes were found gone and handled.

        Raises:
            StoreUnavailable, StoreError: the server is away.
        """
        now_s = self._clock.boottime_s()
        rows = self._store.registered()
        present = self._store.connected()
        if self._connected_since_s is None:
            self._connected_since_s = now_s
        absent = [row for row in rows if row.process_id not in present]
        self._absent_since_s = {row.process_id: self._absent_since_s.get(row.process_id, now_s) for row in absent}
        gone = 0
        for row in absent:
            evidence = self._evidence(row, now_s)
            if evidence is not None:
                self._recover(row, evidence)
                gone += 1
        now_ms = self._store.now_ms()
        self._sweep.timers(now_ms)
        self._sweep.expired(now_ms)
        return gone

    def look_here(self) -> int:
        """Look for processes of this host that are gone for certain, without waiting for their connections to close.

        Returns:
            How many were found gone and handled.

        Raises:
            StoreUnavailable, StoreError: the server is away; the elected watcher finds them later.
        """
        here = [row for row in self._store.registered() if row.host == self._host]
        gone = [row for row in here if process_gone(ProcessIdentity(row.pid, row.start_time))]
        for row in gone:
            self._recover(row, Evidence.GONE)
        return len(gone)

    def _evidence(self, row: ProcessRow, now_s: float) -> Evidence | None:
        """`gone` when the process was seen to be gone, `absent` after long absence, None to wait."""
        if row.host == self._host:
            return Evidence.GONE if process_gone(ProcessIdentity(row.pid, row.start_time)) else None
        absent_s = now_s - self._absent_since_s[row.process_id]
        connected_s = now_s - (self._connected_since_s if self._connected_since_s is not None else now_s)
        waited = absent_s >= self._settings.absent_host_s and connected_s >= self._settings.lease_s
        return Evidence.ABSENT if waited else None

    def _recover(self, row: ProcessRow, evidence: Evidence) -> None:
        """Recover every lease of a process, then forget the process, then see to lost messages."""
        held = [h for h in self._store.held_tasks(until_ms=None, limit=BATCH * 10) if h.owner == row.process_id]
        log.warning("process %s is %s; it held %d tasks", row.process_id, evidence, len(held))
        for task in held:
            self._sweep.recover(task, evidence)
        self._store.unregister([row.process_id])
        self._absent_since_s.pop(row.process_id, None)
        self._sweep.outbox(self._store.now_ms())

    def see_to_spool(self) -> int:
        """End commands that nobody waits for: their task is over, or its lease moved to where this spool is not.

        Another container of this machine may share the folder; its workers can read a command here and wait for it.

        Returns:
            How many were ended.
        """
        if self._spool is None:
            return 0
        if self._clock.boottime_s() >= self._next_expiry_s:
            self._next_expiry_s = self._clock.boottime_s() + SPOOL_EXPIRY_INTERVAL_S
            self._spool.expire(self._settings.exec_retention_s)
        running = self._spool.running()
        where = self._store.whereabouts([task_id for _, task_id in running])
        stray = [effect for effect, task_id in running if where[task_id] not in {"", self._spool.identity}]
        for effect in stray:
            log.warning("command %s is ended: its task is over or has moved away", effect)
            try:
                self._spool.revoke(effect)
            except SpoolError as error:  # the others are ended all the same
                log.warning("command %s: %s", effect, error)
        return len(stray)

    def _see_to_sweep(self) -> None:
        now_s = self._clock.boottime_s()
        if now_s < self._next_overdue_check_s:
            return
        self._next_overdue_check_s = now_s + self._settings.sweep_s
        overdue_ms = int(self._settings.sweep_s * 1000 * SWEEP_OVERDUE_INTERVALS)
        # either way: one that is yet to come was noted before the server's clock went back
        if abs(self._store.now_ms() - self._store.last_sweep_ms()) > overdue_ms:
            log.warning("no sweep has run for %d intervals; the watcher runs it", SWEEP_OVERDUE_INTERVALS)
            sweep_quietly(self._sweep)

    def _run(self) -> None:
        told = True  # a child may have died before this thread was there to be told
        while not self._stopping:
            self._wake.clear()
            with GUARD.at_work():  # the parent of a dead child forks another one at this very moment
                pause_s = self._round(told)
            told = self._wake.wait(pause_s)

    def _round(self, told: bool) -> float:
        """Look once, as far as it is this process's turn.

        Args:
            told: whether a child of this process was just lost.

        Returns:
            Seconds until the next round.
        """
        watching = self._settings.recovery_policy is not RecoveryPolicy.OFF
        try:
            if told and watching:
                self.look_here()
            if self._clock.boottime_s() >= self._next_notices_s:
                # also where another one leads: it may be of a process whose settings tell nobody
                self._next_notices_s = self._clock.boottime_s() + self._settings.heartbeat_s
                self._notices.look()
            if self._election.leads():
                self._watch(watching)
        except StoreError as error:
            self._connected_since_s = None
            self._absent_since_s.clear()
            log.warning("watcher: %s", error)
            return 0.5
        except Exception:  # the watcher must outlive every bug but say so
            log.exception("watcher failed unexpectedly")
            return 1.0
        return self._settings.watcher_interval_s

    def _watch(self, watching: bool) -> None:
        """What is done once for the whole host."""
        if watching:
            self.look()
        if self._clock.boottime_s() >= self._next_spool_look_s:
            self._next_spool_look_s = self._clock.boottime_s() + self._settings.heartbeat_s
            try:
                self.see_to_spool()
            except SpoolError as error:  # a broken disk of this host says nothing of other processes
                log.warning("watcher: %s", error)
        self._see_to_sweep()

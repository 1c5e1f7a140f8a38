"""One worker process: its identity, its leases, its presence, and how it leaves."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from neuraphage.errors import StoreError
from neuraphage.ports import Clock, Presence, ProcessRow, Standby, SweepStore
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.runtime.outcome import not_done
from neuraphage.runtime.runner import TurnRunner
from neuraphage.runtime.services import Services
from neuraphage.settings import Settings

log = logging.getLogger(__name__)

OVERDUE_EXIT_CODE = 75
"""EX_TEMPFAIL: the process gave up a hung effect; its supervisor starts a new one."""
OVERDUE_DRAIN_S = 30.0
"""How long the other turns of a process with a hung effect may take at most to finish their step."""


class WorkerProcess:
    """Everything of this process that turns share. Made after a fork, never before.

    Args:
        services: the ports.
        registry: where processes are entered.
        presence: the named connection.
        clock: local time.
        settings: times.
        row: who this process is.
        standby: renews leases while this interpreter is stuck.
        parent_draining: whether the parent of a forked process is shutting down.
        closed: whether a draining process takes in no more messages.
        exit_process: ends the process at once.
    """

    def __init__(  # noqa: PLR0913 - a process is where its parts meet
        self,
        services: Services,
        registry: SweepStore,
        presence: Presence,
        clock: Clock,
        settings: Settings,
        row: ProcessRow,
        *,
        standby: Standby | None = None,
        parent_draining: Callable[[], bool] = lambda: False,
        closed: Callable[[], bool] = lambda: True,
        exit_process: Callable[[int], None] = os._exit,
    ) -> None:
        self.process_id = row.process_id
        self.pid = row.pid
        self._registry = registry
        self._relay = services.relay
        self._row = row
        self._limits_work = settings.slot_rules is not None
        self._exit_process = exit_process
        self._entered = False
        self._entering = threading.Lock()
        self.keeper = LeaseKeeper(
            services.store, presence, clock, settings, self._overdue, parent_draining, self._beat, standby
        )
        # gone before the lease of the hung effect is over: then its watcher recovers it at once, as of one that died
        self._overdue_drain_s = min(OVERDUE_DRAIN_S, settings.lease_s - 2 * settings.heartbeat_s)
        self.runner = TurnRunner(services, self.keeper, row.process_id, closed)

    def start(self) -> None:
        """Start the heartbeat, and have the relay ready."""
        self.keeper.start()
        threading.Thread(target=self._relay.warm, name="neuraphage-relay", daemon=True).start()

    def run_turn(self, task_id: str, seq: int, iteration: int = 0) -> str:
        """Handle one message; the process is entered in the registry before its first claim."""
        try:
            self._enter()
        except StoreError as error:
            log.warning("not entered: %s", error, extra={"task": task_id})
            return not_done(error)
        return self.runner.run(task_id, seq, iteration)

    def drain(self) -> None:
        """Start nothing new; turns finish the step in hand and give their leases back."""
        self.keeper.drain()

    def leave(self) -> None:
        """The last act of a clean exit: out of the registry, connection closed."""
        self.keeper.stop()
        try:
            self._registry.unregister([self.process_id])
        except StoreError as error:
            log.warning("could not leave the registry: %s", error)

    def _enter(self) -> None:
        if self._entered:
            return
        with self._entering:
            if not self._entered:
                self._registry.check_access()  # before any work: a turn that could not be stored is not begun
                self._registry.register(self._row)
                if self._limits_work:
                    self._registry.adjust()  # before a claim, which is held against it; who begins, the sweep publishes
                self._entered = True

    def _beat(self) -> None:
        """Enter again with every heartbeat: a process that was taken for dead, wrongly, is watched again."""
        if self._entered and not self.keeper.draining():
            self._registry.register(self._row)

    def _overdue(self, task_id: str) -> None:
        log.error("a hung effect: draining this process", extra={"task": task_id})
        self.drain()
        threading.Thread(target=self._exit_when_alone, name="neuraphage-overdue", daemon=True).start()

    def _exit_when_alone(self) -> None:
        done = threading.Event()
        for _ in range(int(self._overdue_drain_s / 0.1)):
            if self.keeper.held_count() == 0:
                break
            done.wait(0.1)
        self._exit_process(OVERDUE_EXIT_CODE)

"""A fork waits until the threads beside the main one have finished what they do.

A forked child inherits every lock as it stands, but not the thread that holds it. A prefork parent forks a new child
at the very moment when its watcher sees to the one that died: if the watcher imports a module then, the child waits
for that module's lock for ever, and its slot is lost. So threads that live in a parent do their work under this
guard, and a fork finds all of them at rest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FORK_WAIT_S = 5.0
"""Longest wait of a fork: a thread that waits for a server that is away holds no lock that a child needs."""


class ForkGuard:
    """Keeps forks and work of other threads apart. Forks come from one thread, which does no work under the guard.

    Args:
        wait_s: longest wait of a fork.
    """

    def __init__(self, wait_s: float = FORK_WAIT_S) -> None:
        self._wait_s = wait_s
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._forking = False

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Work; begins after a fork that is under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._forking)
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Let nobody begin, and wait for those who have begun."""
        with self._changed:
            self._forking = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._working == 0, self._wait_s)

    def after_fork_in_parent(self) -> None:
        """Let work of other threads begin again."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin anew: the threads that worked are not here."""
        self._reset()


GUARD = ForkGuard()
"""The one of this process."""
os.register_at_fork(
    before=GUARD.before_fork,
    after_in_parent=GUARD.after_fork_in_parent,
    after_in_child=GUARD.after_fork_in_child,
)

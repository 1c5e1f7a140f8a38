"""Health of the worker processes of this host: live (the process answers) and ready (it can claim turns).

A worker writes down its state in a small file of its own, twice a period; whoever asks reads the files. So a
check costs no network, tells apart a frozen process from an absent server, and never calls a worker dead because
Redis is away. `assess` decides; the rest reads and writes.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path

from neuraphage.decide.health import MISSED_PERIODS, assess
from neuraphage.errors import AccessRefused, DamagedKey, StoreError
from neuraphage.model.health import Health, HealthRecord
from neuraphage.ports import Clock
from neuraphage.ports.health import HealthStore
from neuraphage.private_files import make_private, private_folder
from neuraphage.runtime.fork_guard import GUARD
from neuraphage.runtime.host import ProcessIdentity, host_file, host_id, process_gone

log = logging.getLogger(__name__)

TRIED_INTERVAL_S = 60.0
"""A server that does not tell its rules (before Redis 7) is tried by writes, so more seldom while it refuses none."""
REFUSAL_CHARS = 500
"""Longest refusal that is written down; the log has all of it."""
ABANDONED_S = 86_400.0
"""A file of another host that was not written to for a day is nobody's."""
_FIELDS = frozenset(field.name for field in fields(HealthRecord))


def health_folder(data_dir: Path, namespace: str) -> Path:
    """Where the processes of a namespace write their records."""
    return data_dir / "health" / namespace


def read_health(folder: Path, clock: Clock, host: str | None = None) -> list[Health]:
    """Judge every worker process of this host that exists, and remove the files of those that are gone.

    Files of other hosts (containers that share the folder) are left alone while they are written to.

    Args:
        folder: see `health_folder`.
        clock: local time.
        host: identity of this host.
    """
    here = host or host_id()
    records = [(path, _read(path)) for path in sorted(folder.glob("*.json"))]
    found = []
    for path, record in records:
        if record is None or record.host != here:
            _remove_if_old(path)
            continue
        if process_gone(ProcessIdentity(record.pid, record.start_time)):
            path.unlink(missing_ok=True)
            continue
        found.append(assess(record, clock.boottime_s()))
    return found


class HealthReporter:
    """Writes this process's records, in one thread; another asks the state server, which may hang.

    Args:
        folder: see `health_folder`.
        store: asked whether it takes writes.
        clock: local time.
        identity: this process.
        name: Celery's node name.
        period_s: seconds between two records.
        consuming: whether messages are taken in now; called from the writing thread.
        host: identity of this host.
    """

    def __init__(
        self,
        folder: Path,
        store: HealthStore,
        clock: Clock,
        identity: ProcessIdentity,
        name: str,
        period_s: float,
        consuming: Callable[[], bool],
        host: str | None = None,
    ) -> None:
        here = host or host_id()
        self._path = folder / f"{host_file(here)}-{identity.pid}.json"
        self._store = store
        self._clock = clock
        self._consuming = consuming
        self._stop = threading.Event()
        self._record = HealthRecord(here, identity.pid, identity.start_time, name, period_s, 0.0, 0.0, consuming=False)
        self._stored_at_s, self._refusal, self._next_check_s = 0.0, "", 0.0
        targets = {"records": self._write_all, "store": self._ask_all}
        self._threads = [
            threading.Thread(target=target, name=f"neuraphage-health-{what}", daemon=True)
            for what, target in targets.items()
        ]

    def start(self) -> None:
        """Write the first record and start both threads; after a fork, never before.

        Raises:
            OSError: the folder cannot be written to.
        """
        private_folder(self._path.parent)
        self.write()  # from now on it is counted
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop, and take the file away: a process that leaves is not ill."""
        self._stop.set()
        self._path.unlink(missing_ok=True)

    def write(self) -> None:
        """Write one record."""
        now_s, stored_s, refusal = self._clock.boottime_s(), self._stored_at_s, self._refusal
        record = asdict(
            replace(self._record, at_s=now_s, stored_at_s=stored_s, consuming=self._consuming(), refusal=refusal)
        )
        part = self._path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with os.fdopen(make_private(part, os.O_WRONLY), "w", encoding="utf-8") as file:
            json.dump(record, file)
        if not self._stop.is_set():
            os.replace(part, self._path)  # noqa: PTH105 - a rename over the old file, by its exact name

    def ask(self) -> None:
        """Ask the state server once whether it takes a write, and would take those of a turn.

        Raises:
            StoreError: it does not.
        """
        sent_s = self._clock.boottime_s()
        ttl_ms = int(self._record.period_s * MISSED_PERIODS * 1000) + 1
        try:
            self._store.touch_health(f"{self._record.host}:{self._record.pid}", ttl_ms)
            if sent_s >= self._next_check_s:  # rules change while workers run, and who could not end a turn gets none
                is_told = self._store.check_access()
                self._next_check_s = 0.0 if is_told else sent_s + TRIED_INTERVAL_S
        except StoreError as error:
            refused = isinstance(error, (AccessRefused, DamagedKey))
            self._refusal = " ".join(str(error).split())[:REFUSAL_CHARS] if refused else ""
            self._stored_at_s = self._next_check_s = 0.0
            raise
        self._stored_at_s, self._refusal = sent_s, ""

    def _write_all(self) -> None:
        while not self._stop.wait(self._record.period_s / 2):
            with GUARD.at_work():
                try:
                    self.write()
                except OSError as error:
                    log.warning("health file %s: %s", self._path, error)
                except Exception:  # a thread that ends in silence would make a process that works look frozen
                    log.exception("health file %s", self._path)

    def _ask_all(self) -> None:
        while not self._stop.wait(self._record.period_s / 2):
            with GUARD.at_work():
                try:
                    self.ask()
                except StoreError as error:
                    log.warning("health: %s", error)
                except Exception:  # as above
                    log.exception("health")


def _remove_if_old(path: Path) -> None:
    """Remove a file of another host that nobody has written to for long: its boot or its container is gone."""
    try:
        if time.time() - path.stat().st_mtime > ABANDONED_S:
            path.unlink()
    except OSError:
        return  # gone meanwhile, or another user's


def _read(path: Path) -> HealthRecord | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return HealthRecord(**{name: value for name, value in found.items() if name in _FIELDS})
    except (OSError, ValueError, TypeError, AttributeError):  # gone, torn by a power cut, or of another release
        return None

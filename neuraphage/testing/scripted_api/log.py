"""What reached the server, counted by request: how often each step was really sent to "the provider"."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

MAX_ENTRIES = 100_000
"""Single requests kept, the newest; counts by request hash are kept for as many hashes."""

OPEN = "open"
COMPLETED = "completed"
CLOSED = "closed_by_client"
LIMITED = "limited:429"


@dataclass(slots=True)
class Entry:
    """One request that passed the checks, or was refused.

    Args:
        number: in order of arrival; never starts again.
        request_hash: hash of the body; empty when the body was refused.
        request_id: the X-Neuraphage-Request-Id header.
        script, turn, attempt: which script, how many assistant messages, which time this request came.
        outcome: open, completed (message_stop was sent), closed_by_client, limited:429 (over the server's limit),
            fault:<kind> or refused:<status>.
        received_at_s: Unix seconds.
        detail: why it was refused.
    """

    number: int
    request_hash: str
    request_id: str
    script: str = ""
    turn: int = 0
    attempt: int = 0
    outcome: str = OPEN
    received_at_s: float = 0.0
    detail: str = ""


class RequestLog:
    """The log of one server. Thread-safe.

    Args:
        path: file that gets one line of JSON when a request arrives and one when it ends; None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._counts: dict[str, dict[str, int]] = {}
        self._number = 0
        self._forgotten = 0
        self._path = path
        self._file: TextIO | None = None
        self.open()

    def received(self, request_hash: str, request_id: str, script: str = "", turn: int = 0, detail: str = "") -> Entry:
        """Write down an arrival.

        Returns:
            Its entry; `attempt` says which time this request came.
        """
        with self._lock:
            self._number += 1
            counts = self._counts_of(request_hash)
            counts["received"] += 1
            entry = Entry(self._number, request_hash, request_id, script, turn, counts["received"])
            entry.received_at_s, entry.detail = time.time(), detail
            self._entries.append(entry)
            self._write("received", entry)
        return entry

    def ended(self, entry: Entry, outcome: str) -> None:
        """Write down how it ended; only the first end counts."""
        with self._lock:
            if entry.outcome != OPEN:
                return
            entry.outcome = outcome
            self._write("ended", entry)
            if entry.number <= self._forgotten:
                return
            kind = outcome.partition(":")[0]
            counts = self._counts_of(entry.request_hash)
            counts[kind] = counts.get(kind, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """Totals, counts by request hash, and the newest entries, oldest first."""
        with self._lock:
            requests = {request_hash: dict(counts) for request_hash, counts in self._counts.items()}
            entries = [asdict(entry) for entry in self._entries]
        totals = {
            name: sum(counts.get(name, 0) for counts in requests.values())
            for name in ("received", COMPLETED, CLOSED, "fault", "refused")
        }
        return {"totals": totals, "requests": requests, "entries": entries}

    def clear(self) -> None:
        """Forget all; attempts count from 1 again, and requests that are still open are not counted when they end.

        The file keeps its lines.
        """
        with self._lock:
            self._forgotten = self._number
            self._entries.clear()
            self._counts.clear()

    def open(self) -> None:
        """Open the file, if there is one and it is closed.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            if self._path is not None and self._file is None:
                self._file = self._path.open("a", encoding="utf-8")

    def close(self) -> None:
        """Close the file; what ends after that is not written to it."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _counts_of(self, request_hash: str) -> dict[str, int]:
        if request_hash not in self._counts and len(self._counts) >= MAX_ENTRIES:
            self._counts.pop(next(iter(self._counts)))
        return self._counts.setdefault(request_hash, {"received": 0, COMPLETED: 0, CLOSED: 0})

    def _write(self, event: str, entry: Entry) -> None:
        if self._file is not None:
            self._file.write(json.dumps({"event": event, **asdict(entry)}) + "\n")
            self._file.flush()

"""Our Celery app in a process that kills itself, with SIGKILL, right after the write that a test has named.

A test orders a death by an empty file in the folder `die-at` of the data folder, named like a marker: the first write
that leaves a task at this marker is the last act of its process. A claim leaves it at the marker that it found.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuraphage.model.effect import MarkerName
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore

ORDERS = "die-at"
_folder = Path(Settings().data_dir) / ORDERS


def _die_if_ordered(marker: MarkerName) -> None:
    try:
        (_folder / marker.value).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _mortal(write: Callable[..., Any]) -> Callable[..., Any]:
    """A write of the store that may be its process's last act."""

    def wrapped(store: RedisStore, first: Any, *rest: Any, **more: Any) -> Any:
        answer = write(store, first, *rest, **more)
        found = answer.record if write.__name__ == "claim" else rest[0]
        marker = found and found.marker
        if marker is not None:
            _die_if_ordered(marker.name)
        return answer

    return wrapped


for _name in ("claim", "commit", "suspend", "finish"):
    setattr(RedisStore, _name, _mortal(getattr(RedisStore, _name)))

from workers.app import app  # noqa: E402 - after the store is mortal

__all__ = ["app"]

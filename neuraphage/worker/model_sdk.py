"""When the model's SDK is imported, which takes longer than all the rest of a worker's start.

* Under threads and solo, in a thread behind `ready`. A turn that calls the model before that is over waits for it, at
  most as long as the worker would have kept it waiting; claims, tools and recoveries do not. Left to the first call, a
  worker that stood idle would keep that one waiting, too.
* Under prefork, by the parent, right before it forks its first child. So it stays a part of that start: the children
  share what the parent has loaded, and a child that replaces one begins at once. Left to the children, each would
  import it anew, in the midst of its first turn, and hold a copy of its own.
* Of who takes no turns, never.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import signals

from neuraphage.decide.model_ids import Provider
from neuraphage.llm import is_sdk_loaded, load_sdk
from neuraphage.runtime.fork_guard import GUARD

log = logging.getLogger(__name__)


class _Worker:
    """What this worker is for, and what it has done for that."""

    calls: tuple[Provider, ...] = ()
    has_shared = False


def expect_turns(providers: tuple[Provider, ...]) -> None:
    """Have the SDKs of these imported in this worker, as it will call their models; without this call none is."""
    _Worker.calls = providers


@signals.worker_before_create_process.connect
def share_with_children(**_: Any) -> None:
    """Before its first fork: import the SDK, and freeze what the parent holds, so that children share the memory."""
    if not _Worker.calls or _Worker.has_shared:
        return
    _Worker.has_shared = True
    with _no_look_for_garbage():
        for provider in _Worker.calls:
            load_sdk(provider)
    gc.freeze()  # a look for cycles writes to each object that it looks at, and so would copy it for each child


@signals.worker_ready.connect
def load_behind_ready(**_: Any) -> None:
    """Once messages are taken in: begin to import the SDK in a thread, unless it is imported."""
    if not all(map(is_sdk_loaded, _Worker.calls)):
        threading.Thread(target=_load, name="neuraphage-model-sdk", daemon=True).start()


@contextmanager
def _no_look_for_garbage() -> Iterator[None]:
    """What an import makes is no garbage: looking for some takes a seventh of it, for which viewers may wait."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _load() -> None:
    """Import it while nobody forks; a worker that cannot call the model gives its tasks back and ends."""
    try:
        with _no_look_for_garbage():
            for provider in _Worker.calls:
                with GUARD.at_work():
                    load_sdk(provider)
    except Exception:  # whatever a broken package raises
        log.critical("the model's SDK cannot be imported, so this worker ends: install neuraphage again", exc_info=True)
        os.kill(os.getpid(), signal.SIGTERM)

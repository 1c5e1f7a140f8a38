"""The end of a local stack is the end of its relay, unless a reply is on its way: that goes on for the next start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuraphage.relay.joining import end_idle
from neuraphage.relay_wiring import relay_place
from neuraphage.settings import Settings


@contextmanager
def idle_relay_ended(data_dir: Path, namespace: str) -> Iterator[None]:
    """At the end of the block, end the relay that workers of this host have started, if it has no call.

    Args:
        data_dir, namespace: of the stack; its workers have ended by then.
    """
    try:
        yield
    finally:
        end_idle(relay_place(Settings(data_dir=data_dir, namespace=namespace)))

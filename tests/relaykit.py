"""Relays as processes of their own, and what worker processes have of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuraphage.llm import AnthropicClient
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.transport import RelayTransport
from neuraphage.testing.scripted_api import Pace
from patience import PATIENCE_S

KEY = "sk-ant-relay-test-0123456789"
SLOW = Pace(between_events_s=0.05, chunk_chars=4)
HELD, GO = "hold it", "go"
"""A prompt whose reply is held, and the file that lets it go on."""
TEXT = "One two three four five six seven eight nine ten."


class Interrupted:
    """ports.DetachableInterrupt, pulled by hand."""

    def __init__(self) -> None:
        self.detachable = False
        self.raises: BaseException | None = None
        self._wakes: list[Callable[[], None]] = []

    def check(self) -> None:
        if self.raises is not None:
            raise self.raises

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def pull(self, error: BaseException) -> None:
        """Have the call end with this, as a lost lease or a cancel does."""
        self.raises = error
        for wake in list(self._wakes):
            wake()


class Host:
    """A host whose processes use one relay.

    Args:
        place: of the relay.
        url: of the provider.
        limits: of a relay that is started here.
    """

    def __init__(self, place: RelayPlace, url: str, limits: RelayLimits) -> None:
        self.place = place
        self._url = url
        self._limits = limits
        self.interrupt = Interrupted()

    def process(self) -> tuple[ReplyRelay, AnthropicClient]:
        """What a worker process has."""
        relay = ReplyRelay(self.place, self._limits)
        client = AnthropicClient(
            self._url, KEY, connect_timeout_s=5, read_timeout_s=20, call_timeout_s=60,
            transport=lambda: RelayTransport(relay),
        )  # fmt: skip
        return relay, client

    def request(self, call_id: str, prompt: str = "hi") -> ModelRequest:
        return ModelRequest(
            request_id=f"req-{call_id}", model="scripted-1", system=[], tools=[], max_tokens=100,
            messages=[{"role": "user", "content": prompt}], call_id=call_id, task_id="task-1",
        )  # fmt: skip

    def call(
        self, client: AnthropicClient, call_id: str, pieces: Callable[[Delta], Any] = lambda _: None
    ) -> ModelReply:
        """One call, or the one of this id that there is."""
        return client.call(self.request(call_id), pieces, self.interrupt)


@contextmanager
def relay_process(
    root: Path, limits: RelayLimits | None = None, *, stays: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """A relay that takes calls at a place, until the end of the block.

    Args:
        root: the place.
        limits: what it takes.
        stays: go on when nobody uses it.
    """
    place = RelayPlace(root)
    link = place.service if stays else place.started
    before = place.current(link)
    argv = [
        sys.executable,
        "-m",
        "neuraphage.relay",
        str(root),
        place.host,
        json.dumps(asdict(limits or RelayLimits())),
    ]
    process = subprocess.Popen([*argv, "stay"] if stays else argv, stdin=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while place.current(link) in ("", before) or not place.is_alive(place.current(link)):
            assert time.monotonic() < deadline_s, "the relay did not start"
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()

"""The relay is killed at each instant of a call: the task ends right, and what may be paid twice is counted."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.begun_call import Finding
from neuraphage.decide.hashing import call_id
from neuraphage.llm import AnthropicClient
from neuraphage.model.task import Status
from neuraphage.relay.entry import CallEntry
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.program import run_relay
from neuraphage.relay.recording import Recording
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.server import RelayServer
from neuraphage.relay.transport import RelayTransport
from neuraphage.relay.wire import Wire
from neuraphage.store import queries
from neuraphage.testing.scripted_api import ScriptedServer
from relaykit import KEY, TEXT, relay_process
from turnkit import new_rig, until


@dataclass(frozen=True)
class Instant:
    """When the relay dies, and what that costs.

    Args:
        name: for people.
        owner, method: what it does then.
        before: whether it dies before or after it.
        number: at which time that it does it.
        requests: that reach the provider.
        resends: that are counted.
        faults: calls that failed for the worker.
        is_whole: the provider's last byte is there by then. A worker that has read it needs no relay any more, so the
            call may have cost what it costs by itself.
    """

    name: str
    owner: type
    method: str
    before: bool
    number: int
    requests: int
    resends: int
    faults: int
    is_whole: bool = False


INSTANTS = (
    Instant("accepted", RelayServer, "_start", True, 1, 1, 0, 0),
    Instant("file made", CallEntry, "begin", False, 1, 1, 0, 1),
    Instant("sent", Wire, "write", False, 1, 2, 0, 1),  # before a reply has begun nobody knows whether it is billed
    Instant("first bytes stored", Recording, "begin", False, 1, 2, 0, 1),
    Instant("some of the reply stored", Recording, "add", False, 4, 2, 1, 1),
    Instant("all of the reply stored", Recording, "finish", True, 1, 2, 1, 1, is_whole=True),
    Instant("sealed", Recording, "finish", False, 1, 1, 0, 0),
)


def dies_at(instant: Instant) -> None:
    """In the relay's process: have it killed there."""
    method: Callable[..., Any] = getattr(instant.owner, instant.method)
    seen: list[None] = []

    def here(before: bool) -> None:
        if before is instant.before:
            seen.append(None)
            if len(seen) == instant.number:
                os.kill(os.getpid(), signal.SIGKILL)

    async def awaited(*given: Any) -> Any:
        here(True)
        result = await method(*given)
        here(False)
        return result

    def called(*given: Any) -> Any:
        here(True)
        result = method(*given)
        here(False)
        return result

    setattr(instant.owner, instant.method, awaited if iscoroutinefunction(method) else called)


@contextmanager
def dying_relay(place: RelayPlace, instant: Instant) -> Iterator[None]:
    """A relay that takes calls at a place before any other one, until it dies: forked, since it has all modules."""
    pid = os.fork()
    if not pid:
        try:
            dies_at(instant)
            asyncio.run(run_relay(place, RelayLimits(), stays=True))
        finally:
            os._exit(1)
    try:
        until(lambda: place.is_alive(place.current(place.service)))
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        (place.root / place.service).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RelayPlace]:
    """A host with a relay that goes on, which takes calls while no other one does."""
    root = tmp_path_factory.mktemp("deaths") / "relay"
    with relay_process(root, RelayLimits(idle_s=3_600.0), stays=False):
        yield RelayPlace(root)


@pytest.mark.parametrize("instant", INSTANTS, ids=lambda instant: instant.name)
def test_a_task_outlives_each_death_of_its_relay(
    place: RelayPlace, provider: ScriptedServer, tmp_path: Path, instant: Instant
) -> None:
    """Of a call that was lost with it the next worker, too, is told that nobody knows what came of it."""
    relay = ReplyRelay(place, RelayLimits())
    rig = new_rig(tmp_path, AnthropicClient(provider.url, KEY, transport=lambda: RelayTransport(relay)))
    object.__setattr__(rig.services, "relay", relay)
    with dying_relay(place, instant):
        task_id = rig.submit()
        rig.drain()
    if instant.is_whole and rig.get(task_id).status is Status.COMPLETED:
        instant = replace(instant, requests=1, resends=0, faults=0)
    if instant.faults:
        rig.retry_now(task_id)
        rig.drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls) == (Status.COMPLETED, 1)
    assert record.counters.model_resends == instant.resends
    reply = rig.entries(task_id)[-1]
    assert reply["content"][0]["text"] == TEXT
    assert 0 <= reply["first_token_ms"] <= reply["total_ms"] > 0
    assert rig.kinds(task_id).count("RequestFailed") == instant.faults
    assert provider.log()["totals"]["received"] == instant.requests
    if instant.faults:
        sent = next(event for event in queries.events(rig.store.context, task_id) if event.kind == "RequestSent")
        lost = call_id(sent.data["request_id"], sent.data["attempt"])
        assert ReplyRelay(place, RelayLimits()).settle(lost) is Finding.UNKNOWN
    rig.check()

"""The server is there and refuses: full, read-only, frozen, or ending every connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from fault_server import FaultServer
from fault_world import World, stamps

from neuraphage.errors import StoreUnavailable
from neuraphage.ports import Lease, Renewal
from neuraphage.runtime.live_view import SLOW_S
from patience import PATIENCE_S
from stackkit.scripts import task_prompt, turn
from turnkit import until

pytestmark = pytest.mark.real_redis


@pytest.mark.parametrize("refusal", ["full", "read_only"])
def test_nothing_runs_while_writes_are_refused(world: World, server: FaultServer, refusal: str) -> None:
    """No tool starts without its marker, for longer than a lease; then all goes on: no recovery, no doubled call."""
    tasks = [world.submit(stamps(3, first_byte_delay_s=0.1)) for _ in range(4)]
    world.start()
    until(lambda: len(world.stamp.runs()) > 2)
    with getattr(server, refusal)():
        until(lambda: not world.dispatcher.queue_length())  # every slot has met the refusal
        stamped, began_s = len(world.stamp.runs()), time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"maxmemory|read only"):
            world.submit(stamps(1))
        until(lambda: time.monotonic() - began_s > 1.2 * world.settings.lease_s)
        assert len(world.stamp.runs()) - stamped <= len(tasks), "each announced call may end, none may follow it"
        running = len(world.stamp.runs())
        assert len(world.requests()) <= len(tasks) * 4
    until(lambda: len(world.stamp.runs()) > running)
    world.finished(tasks)
    world.check(tasks)


def test_every_connection_is_ended_five_times(world: World, server: FaultServer) -> None:
    """CLIENT KILL of all connections, five times in three seconds: nobody is taken for dead, nothing is done twice."""
    tasks = [world.submit(stamps(13, first_byte_delay_s=0.2)) for _ in range(6)]
    world.start(slots=6)
    killed, began_s = [], time.monotonic()
    for number in range(5):
        until(lambda: time.monotonic() - began_s > 0.6 * number)  # noqa: B023 - called before the loop goes on
        until(world.leased)
        killed.append(server.kill_connections())
    assert min(killed) > 0
    assert time.monotonic() - began_s > 2.4
    world.finished(tasks)
    world.check(tasks)


def test_a_frozen_server_takes_nobody_for_dead(
    server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP for longer than the lease, with calls in mid-stream; leases are visited often before a renewal."""
    with World(server, tmp_path, heartbeat_s=1.5, lease_s=5.0) as world:  # a slow machine renews within two heartbeats
        _nobody_is_taken_for_dead(world, server, monkeypatch)


def _nobody_is_taken_for_dead(world: World, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    lease_s, keys = world.settings.lease_s, world.looking.context.keys
    awake, renew = threading.Event(), world.store.renew
    awake.set()

    def renew_when_awake(leases_held: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        # as on a laptop that slept: no renewal waits in the server's sockets, to be carried out before all else
        awake.wait()
        return renew(leases_held)

    monkeypatch.setattr(world.store, "renew", renew_when_awake)
    go = world.folder / "replies-go-on"
    tasks = [world.submit(stamps(0, until=go)) for _ in range(8)]
    world.start(slots=8)
    world.start_eager_visits()
    until(lambda: len(world.requests()) == len(tasks))
    awake.clear()
    with server.frozen(at_least_s=1.2 * lease_s):
        pass
    until(lambda: server.admin.hlen(keys.suspects) == len(tasks))
    visits = world.visits
    until(lambda: world.visits > visits + 3)
    awake.set()
    until(lambda: server.admin.zcount(keys.leases, world.looking.now_ms(), "+inf") == len(tasks))  # all are renewed
    go.touch()
    world.finished(tasks)
    world.check(tasks)


def test_a_frozen_server_does_not_hold_up_a_stream(
    server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live text is for viewers: a paid stream waits for one bundle of it at most, and sends no other after that."""
    slow = {"between_events_s": 0.02, "chunk_chars": 4}
    with World(server, tmp_path, socket_timeout_s=SLOW_S + 0.1) as world:
        look, replied, bundles = world.store.live_shown, threading.Event(), 0

        def live_shown(task_id: str, call: str) -> int | None:
            nonlocal bundles
            bundles += 1
            if bundles == 1:  # the first: a slow disk may end the showing before a second one
                server.freeze()
            return look(task_id, call)

        monkeypatch.setattr(world.store, "live_shown", live_shown)
        world.model.after_reply = lambda request: replied.set()
        task = world.submit(task_prompt(turn("word " * 90, **slow)))
        world.start()
        try:
            assert replied.wait(PATIENCE_S)
            assert bundles == 1
        finally:
            server.thaw()
        world.finished([task])
        world.check([task])

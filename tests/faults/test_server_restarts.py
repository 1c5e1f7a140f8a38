"""The server goes away and comes back: stopped, killed, slow to load, right after a paid reply."""

from __future__ import annotations

import threading
import time

import pytest
from fault_server import FaultServer
from fault_world import World, stamps

from neuraphage.model.message import ModelRequest
from patience import PATIENCE_S
from turnkit import until

pytestmark = pytest.mark.real_redis
REPEATED_S = 0.55
"""So long redis-py repeats a call, as store/client.py tells it to."""


def down(server: FaultServer, how: str, at_least_s: float = 0.0) -> None:
    """Take the server down, and up again no earlier than that."""
    getattr(server, how)()
    went_s = time.monotonic()
    until(lambda: time.monotonic() - went_s >= at_least_s)
    server.start()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_work_goes_on_over_restarts(world: World, server: FaultServer, how: str) -> None:
    """Two restarts under load: no recovery, no call of the model or of a tool twice."""
    tasks = [world.submit(stamps(3, first_byte_delay_s=0.05)) for _ in range(6)]
    world.start()
    for number in (1, 2):
        until(lambda: len(world.stamp.runs()) > 4 * number)  # noqa: B023 - called before the loop goes on
        down(server, how)
    world.finished(tasks)
    world.check(tasks)


def test_loading_is_waited_for(world: World, server: FaultServer) -> None:
    """A server that reads a large file answers LOADING for longer than a call is repeated; all goes on after that."""
    server.load_slowly(4 * REPEATED_S)
    tasks = [world.submit(stamps(3, first_byte_delay_s=0.05)) for _ in range(4)]
    world.start()
    until(lambda: len(world.stamp.runs()) > 2)
    loading_s: list[float] = []

    def is_back() -> bool:
        answer = server.answers()
        if answer == "BusyLoadingError":
            loading_s.append(time.monotonic())
        return answer == "ready"

    server.kill()
    looking = threading.Thread(target=lambda: until(is_back))
    looking.start()
    server.start()
    looking.join()
    assert loading_s[-1] - loading_s[0] > REPEATED_S, loading_s
    world.finished(tasks)
    world.check(tasks)


@pytest.mark.parametrize(("how", "leases"), [("stop", 0.75), ("kill", 1.5)])
def test_a_paid_reply_outlives_the_server(world: World, server: FaultServer, how: str, leases: float) -> None:
    """The server goes right after the reply, for longer than redis-py tries: it is committed, not asked again."""
    replied = threading.Event()

    def wait_for_the_fault(request: ModelRequest) -> None:
        if not replied.is_set():
            replied.set()
            until(lambda: server.answers() != "ready")

    world.model.after_reply = wait_for_the_fault
    task = world.submit(stamps(2))
    world.start()
    assert replied.wait(PATIENCE_S)
    down(server, how, leases * world.settings.lease_s)
    world.finished([task])
    world.check([task])


def test_an_outage_longer_than_the_lease_takes_nobody_for_dead(world: World, server: FaultServer) -> None:
    """Every lease looks expired when the server is back; two visits decide: no recovery, no doubled call."""
    lease_s = world.settings.lease_s
    tasks = [world.submit(stamps(0, first_byte_delay_s=lease_s)) for _ in range(8)]
    world.start(slots=8)
    world.start_eager_visits()
    until(lambda: len(world.requests()) == len(tasks))
    down(server, "kill", at_least_s=1.5 * lease_s)
    world.finished(tasks)
    world.check(tasks)


def test_a_claim_without_an_answer_is_no_lost_lease(world: World, server: FaultServer) -> None:
    """A claim that is carried out long after its sender gave up waiting is found again by the sender: no recovery."""
    task = world.submit(stamps(1))
    world.start()
    world.finished([task])
    late = world.submit(stamps(1), publish=False)
    with server.frozen(at_least_s=2 * world.settings.lease_s):
        world.dispatcher.publish_turn(late, 0, 1)
        until(lambda: not world.dispatcher.queue_length())
    world.finished([late])
    world.check([task, late])

"""Live and ready of real workers: frozen, cut off, and back."""

from __future__ import annotations

import pytest

from stackkit import Stack, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers


def is_counted(stack: Stack, worker: StackProcess) -> bool:
    """Whether a worker's health is known."""
    return worker.pid in {row.pid for row in stack.health_rows()}


def test_a_frozen_worker_is_not_live_and_a_killed_one_is_not_counted(stack: Stack) -> None:
    """SIGSTOP: neither live nor ready; SIGCONT: both again; kill -9: its file is removed."""
    worker = stack.start_worker()
    wait_for(lambda: is_counted(stack, worker) and stack.health() == (True, True), "all processes to be ready")
    worker.freeze()
    wait_for(lambda: stack.health() == (False, False), "the frozen worker to be seen")
    worker.thaw()
    wait_for(lambda: stack.health() == (True, True), "the worker to be back")
    worker.kill()
    assert not is_counted(stack, worker)
    assert stack.health() == (True, True)


def test_without_the_server_workers_are_live_and_not_ready(stack: Stack) -> None:
    """A server that hangs or is gone never makes a worker look dead."""
    worker = stack.start_worker()
    wait_for(lambda: is_counted(stack, worker) and stack.health() == (True, True), "all processes to be ready")
    pid = stack.server.pid
    assert pid is not None
    stack.freeze_server()
    try:
        wait_for(lambda: stack.health() == (True, False), "the hanging server to be seen")
    finally:
        stack.thaw_server()
    wait_for(lambda: stack.health() == (True, True), "all processes to be ready again")


def test_a_read_only_server_makes_workers_not_ready(stack: Stack) -> None:
    """A failover that left the server read-only: live, not ready, and ready again without a restart."""
    worker = stack.start_worker()
    wait_for(lambda: is_counted(stack, worker) and stack.health() == (True, True), "all processes to be ready")
    stack.admin.replicaof("127.0.0.1", 1)
    try:
        wait_for(lambda: stack.health() == (True, False), "the refused writes to be seen")
        assert stack.store.now_ms(), "it must still answer reads"
    finally:
        stack.admin.replicaof("NO", "ONE")
    wait_for(lambda: stack.health() == (True, True), "all processes to be ready again")

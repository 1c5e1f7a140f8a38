"""What a person is told when the state server takes no writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clikit import Bench, CommandLine
from neuraphage.model.task import Status
from servers import ValkeyProcess


@pytest.fixture
def full(bench: Bench, valkey: ValkeyProcess) -> Iterator[str]:
    """A task that runs, on a server that has become full; the server is emptied afterwards."""
    task_id, _ = bench.kit.running()
    admin = valkey.client()
    admin.config_set("maxmemory", 1)
    yield task_id
    admin.config_set("maxmemory", 0)
    admin.close()


@pytest.mark.parametrize("command", ["pause", "cancel", "send"])
def test_an_order_is_refused_and_nothing_was_done(full: str, cli: CommandLine, bench: Bench, command: str) -> None:
    """Which server, that it is full, that nothing was done, and where the way out is written; exit code 1."""
    ran = cli(command, full, *(["more"] if command == "send" else []))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert "the state server is full" in ran.err
    assert "nothing was done" in ran.err
    assert "RUNBOOK.md" in ran.err
    assert bench.client.get(full).status is Status.RUNNING

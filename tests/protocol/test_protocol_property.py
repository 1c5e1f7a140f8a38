"""The real scripts under every event of the protocol in any order, with faults at any point."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import Protocol

from servers import ValkeyProcess
from storekit import StoreKit, new_kit

EXAMPLES = int(os.environ.get("NEURAPHAGE_PROTOCOL_EXAMPLES", "80"))
"""Examples on the real server; raise it for a long search."""
FAKE_EXAMPLES = 10
"""The fake one takes twice as long for an example."""


def limits(examples: int) -> settings:
    """No database; a failure prints the blob that repeats it."""
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.timeout(3_600)
def test_on_the_fake_server() -> None:
    """A shorter run of the same on the fake server."""
    run_state_machine_as_test(Protocol, settings=limits(FAKE_EXAMPLES))


@pytest.mark.real_redis
@pytest.mark.timeout(3_600)  # a failure is made small first, which takes minutes
def test_on_the_real_server(valkey: ValkeyProcess) -> None:
    """Many examples: every invariant holds after every step, and every task can still come to its end."""
    client = valkey.client()

    class OnValkey(Protocol):
        def new_kit(self, policy: str) -> StoreKit:
            client.flushall()
            return new_kit(client, max_recoveries=5, recovery_policy=policy)

    run_state_machine_as_test(OnValkey, settings=limits(EXAMPLES))
    client.close()

"""Tasks that lock the same resources, under everything that can happen to them in any order."""

from __future__ import annotations

import os

import pytest
from hypothesis.stateful import run_state_machine_as_test
from locks_machine import Locked
from test_protocol_property import limits

from servers import ValkeyProcess
from storekit import StoreKit, new_kit

EXAMPLES = int(os.environ.get("NEURAPHAGE_PROTOCOL_EXAMPLES", "60"))


@pytest.mark.real_redis
@pytest.mark.timeout(3_600)
def test_no_two_calls_meet_and_every_task_comes_to_its_end(valkey: ValkeyProcess) -> None:
    """No two calls under way need the same thing but by shares, no wake-up is missed, and nobody waits for ever."""
    client = valkey.client()

    class OnValkey(Locked):
        def new_kit(self) -> StoreKit:
            client.flushall()
            return new_kit(client, max_recoveries=4)

    run_state_machine_as_test(OnValkey, settings=limits(max(2, EXAMPLES // 4)))
    client.close()

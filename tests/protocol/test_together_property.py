"""Slots, locks, edges, children and money together, under everything that can happen in any order."""

from __future__ import annotations

import os

import pytest
from hypothesis.stateful import run_state_machine_as_test
from test_protocol_property import limits
from together_machine import Together

from servers import ValkeyProcess
from storekit import StoreKit, new_kit

EXAMPLES = int(os.environ.get("NEURAPHAGE_PROTOCOL_EXAMPLES", "60"))


@pytest.mark.real_redis
@pytest.mark.timeout(3_600)
def test_no_task_without_a_wake_up_and_no_lock_or_slot_without_a_holder(valkey: ValkeyProcess) -> None:
    """A live task has a place, and a wake-up or an owner; a lock and a slot have a live holder; all come to an end."""
    client = valkey.client()

    class OnValkey(Together):
        def new_kit(self) -> StoreKit:
            client.flushall()
            return new_kit(client, max_recoveries=4)

    run_state_machine_as_test(OnValkey, settings=limits(max(2, EXAMPLES // 2)))
    client.close()

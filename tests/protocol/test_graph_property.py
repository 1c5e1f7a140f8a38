"""Tasks that wait for each other, under everything that can happen to them in any order."""

from __future__ import annotations

import os

import pytest
from graph_machine import Graph
from hypothesis.stateful import run_state_machine_as_test
from test_protocol_property import limits

from servers import ValkeyProcess
from storekit import StoreKit, new_kit

EXAMPLES = int(os.environ.get("NEURAPHAGE_PROTOCOL_EXAMPLES", "60"))


@pytest.mark.real_redis
@pytest.mark.timeout(3_600)
def test_every_graph_comes_to_its_end(valkey: ValkeyProcess) -> None:
    """No circle is closed, nobody waits for what is over, and each task that may go on comes to its end."""
    client = valkey.client()

    class OnValkey(Graph):
        def new_kit(self) -> StoreKit:
            client.flushall()
            return new_kit(client, max_recoveries=1)

    run_state_machine_as_test(OnValkey, settings=limits(EXAMPLES))
    client.close()

"""Approvals, deadlines, rules and what a task remembers, in whole turns, in any order, with deaths at any write."""

from __future__ import annotations

import os
from typing import Any

import pytest
from approvals_machine import Approvals
from hypothesis.stateful import run_state_machine_as_test
from test_protocol_property import limits

from servers import ValkeyProcess

EXAMPLES = int(os.environ.get("NEURAPHAGE_PROTOCOL_EXAMPLES", "80"))


@pytest.mark.real_redis
@pytest.mark.timeout(3_600)
def test_a_call_runs_as_a_person_allowed_it_and_not_otherwise(valkey: ValkeyProcess) -> None:
    """A yes holds under the rules that it was given under, once and by whoever was first; silence is a no."""
    client = valkey.client()

    class OnValkey(Approvals):
        def new_client(self) -> Any:
            client.flushall()
            return client

    run_state_machine_as_test(OnValkey, settings=limits(max(2, EXAMPLES // 4)))
    client.close()

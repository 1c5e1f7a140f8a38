"""Options of `celery worker` that cannot work are refused before a message is taken in."""

from __future__ import annotations

import pytest
from celery import concurrency

from neuraphage.worker.options import refusal

KNOWN = ("np.run", "np.control")
NO_KEY = "set ANTHROPIC_API_KEY"
POOLS = ("prefork", "processes", "threads", "solo")


@pytest.mark.parametrize("pool", POOLS)
def test_every_pool_that_works_is_taken(pool: str) -> None:
    """Celery gives the pool as a class; without -P as nothing."""
    given = {"pool": concurrency.get_implementation(pool), "autoscale": None}
    assert refusal(given, KNOWN, access_problem=None) is None
    assert refusal({}, KNOWN, access_problem=None) is None


@pytest.mark.parametrize(
    ("pool", "works"), [("prefork", True), ("processes", True), ("threads", False), ("solo", False)]
)
def test_only_processes_can_be_scaled(pool: str, works: bool) -> None:
    """Celery starts the others all the same, and then fails at each message."""
    said = refusal({"pool": concurrency.get_implementation(pool), "autoscale": "4,1"}, KNOWN, access_problem=None)
    assert (said is None) is works
    if said is not None:
        assert said.startswith(f"--autoscale: a pool of {pool} cannot grow")


@pytest.mark.parametrize("pool", ["gevent", "eventlet"])
def test_green_threads_are_refused(pool: str) -> None:
    """One blocking step would hold up every heartbeat of the process."""
    for given in (pool, f"celery.concurrency.{pool}:TaskPool"):
        assert f"-P {pool}" in (refusal({"pool": given}, KNOWN, access_problem=None) or "")


def test_queues_and_the_key_of_the_model() -> None:
    """As text or as a list; whoever takes no turns needs no key."""
    assert "no such queue" in (refusal({"queues": "np.run,np.rum"}, KNOWN, access_problem=None) or "")
    for options in ({}, {"queues": "np.run"}, {"queues": ["np.control", "np.run"]}):
        assert "ANTHROPIC_API_KEY" in (refusal(options, KNOWN, access_problem=NO_KEY) or "")
    for options in ({"queues": "np.control"}, {"exclude_queues": "np.run"}):
        assert refusal(options, KNOWN, access_problem=NO_KEY) is None


def test_a_model_that_cannot_be_called_is_told_to_whoever_takes_turns() -> None:
    """A wrong address or key would end every task for good, or fail every turn."""
    asked = []

    def problem() -> str:
        asked.append(1)
        return "no address"

    assert refusal({"queues": "np.run"}, KNOWN, access_problem=None, model_problem=problem) == "no address"
    assert refusal({"queues": "np.control"}, KNOWN, access_problem=None, model_problem=problem) is None
    assert refusal({"exclude_queues": "np.run"}, KNOWN, access_problem=None, model_problem=problem) is None
    assert refusal({"exclude_queues": "np.control"}, KNOWN, access_problem=None, model_problem=problem) == "no address"
    assert len(asked) == 2, "others have no use for a model"

"""How many commands the state server carries out for a task that uses no lock, hook, label, limit, edge or subtask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.ports import Changes, CommitVerdict, FinishTo
from storekit import MODEL_CALL, StoreKit, text_entry

pytestmark = pytest.mark.real_redis
MOST = {"create": 46, "claim": 52, "commit": 28, "go on": 63, "end": 75}
"""Commands of each script of a plain task. A feature that is not used adds none: who needs a higher number here has
every turn of everybody pay for it, and says in docs/benchmarks.md what for. Fewer are always welcome."""


def sent(kit: StoreKit, act: Callable[[], Any]) -> tuple[Any, int]:
    """What it answers, and how many commands its script has sent."""
    before = _commands(kit)
    answer = act()
    return answer, _commands(kit) - before - 1  # the script itself


def _commands(kit: StoreKit) -> int:
    stats = kit.client.info("commandstats")
    return sum(row["calls"] for name, row in stats.items() if name != "cmdstat_info")


def of_a_plain_task(kit: StoreKit) -> dict[str, int]:
    """Commands of each script of one task: two turns and its end."""
    found = {}
    task_id, found["create"] = sent(kit, kit.create)
    lease, found["claim"] = sent(kit, lambda: kit.claim(task_id))
    said = Changes(add=MODEL_CALL, entries=(text_entry("said"),), outcome=True)
    committed, found["commit"] = sent(kit, lambda: kit.store.commit(lease, said))
    assert committed.verdict is CommitVerdict.COMMITTED
    token = type(lease)(lease.task_id, lease.fence, lease.claim_id, lease.token + 1)
    gone, found["go on"] = sent(kit, lambda: kit.store.go_on(
        token, said, FinishTo.NEXT, 0, {}, process_id="p1", claim_id="next"
    ))  # fmt: skip
    lease = gone.claimed.lease
    _, found["end"] = sent(kit, lambda: kit.store.finish(lease, said, FinishTo.COMPLETED, 1, {"summary": "Done."}))
    return found


def test_a_plain_task_takes_no_more_commands_than_it_did(real_kit: StoreKit) -> None:
    """What is not used is asked for by one command at most, and never for each turn twice."""
    of_a_plain_task(real_kit)  # loads the scripts
    found = of_a_plain_task(real_kit)
    assert {name: count for name, count in found.items() if count > MOST[name]} == {}, found


def test_a_command_too_many_is_seen(real_kit: StoreKit) -> None:
    """The count is of what is sent inside of scripts too."""
    assert sent(real_kit, lambda: real_kit.client.eval("redis.call('PING') return redis.call('PING')", 0))[1] == 2

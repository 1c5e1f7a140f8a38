"""The guards of another try at a reply, each with the contract test that must notice its absence."""

from __future__ import annotations

from typing import Any

from mutant import Mutant

from neuraphage.model.task import Status

TEST = "supersede::"
TALKING: dict[str, Any] = {"status": Status.WAITING_FOR_USER}


def supersede(name: str, old: str, new: str, test: str, given: dict[str, Any] | None = None) -> Mutant:
    """One of supersede.lua."""
    return Mutant(name, "supersede", old, new, TEST + test, given or {})


SUPERSEDE_MUTANTS = (
    supersede(
        "another try only in a conversation", "row.status == STATUS.WaitingForUser and talking()",
        "row.status == STATUS.WaitingForUser", "test_a_task_that_asks_something_else_is_left_alone",
    ),
    supersede(
        "no conversation begun by another try",
        "if redis.call('EXISTS', MESSAGES) == 0 then return reply('ILLEGAL') end", "",
        "test_a_conversation_that_is_gone_is_not_begun_by_it",
    ),
    supersede(
        "another try at the reply that was read", "if row.seq ~= given.seq then return reply('GONE_ON') end", "",
        "test_another_reply_than_the_one_that_was_meant_stays", TALKING,
    ),
    supersede(
        "another try at nothing", "if given.entry == '' then return reply('NO_REPLY') end", "",
        "test_where_there_is_no_reply_nothing_is_added", TALKING,
    ),
    supersede(
        "limit at another try", "if at_limit(set) then return reply('AT_LIMIT') end", "",
        "test_at_its_limit_of_money_it_waits", TALKING,
    ),
    supersede(
        "turns count anew from another try", "local set = { turns_from = row.iteration }", "local set = {}",
        "test_at_its_limit_of_money_it_waits", TALKING,
    ),
    supersede(
        "schema of another try", " < SCHEMA then set.schema = SCHEMA end", " < 0 then set.schema = SCHEMA end",
        "test_an_older_worker_sees_that_a_newer_release_wrote", TALKING,
    ),
    supersede(
        "prompt closed by another try", "redis.call('HDEL', TASK, 'p:' .. prompt, 'a:' .. prompt)", "",
        "test_an_entry_is_added_and_a_turn_is_due", TALKING,
    ),
    supersede(
        "fence of another try", "back_to_work(REASON.retried, set)",
        "set.seq = seq\n  queue_task(row, now, STATUS.Queued, REASON.retried, set, given)",
        "test_no_former_holder_writes_to_an_ended_task_that_goes_on",
    ),
)  # fmt: skip

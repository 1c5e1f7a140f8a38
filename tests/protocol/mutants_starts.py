"""The guards of tasks that begin at a time."""

from __future__ import annotations

from mutant import Mutant


def _starts(name: str, old: str, new: str, test: str, script: str = "slots", **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"start::test_{test}", given)


START_MUTANTS = (
    _starts(
        "who is early waits for its time", "if (tonumber(row.starts_at) or 0) > now then", "if false then",
        "it_is_there_at_once_and_not_to_be_claimed",
    ),
    _starts(
        "the time that has come is over", "    redis.call('HDEL', TASK, 'starts_at')\n", "",
        "its_time_puts_it_to_work_once",
    ),
    _starts(
        "what comes back to work waits for its time", "put(TIMERS, row.starts_at)", "put(WAITS, now)",
        "it_begins_when_both_its_time_has_come_and_others_are_over",
    ),
    _starts(
        "a time that is past is refused", "if starts_at and tonumber(starts_at) <= now then", "if false then",
        "a_time_that_is_past_is_refused_and_nothing_is_stored", "create",
    ),
    _starts(
        "nothing is sent for who is in no outbox", "if not redis.call('ZSCORE', OUTBOX, id) then", "if false then",
        "nothing_is_published_for_who_only_joins_the_line", "create",
    ),
    _starts(
        "who has ended has no time", "'cancel_reason', 'starts_at' }", "'cancel_reason' }",
        "it_can_be_cancelled_before", "prelude",
    ),
    _starts(
        "repair knows of times", "if row.starts_at then return keep ~= PLACE.timers or count > 1 end", "",
        "repair_puts_it_back_to_its_time", "slot_checks", place="outbox",
    ),
    _starts(
        "repair holds timers against the record", "then redis.call('ZADD', TIMERS, at, ID)", "then",
        "repair_puts_timers_right_by_the_record", "slot_checks",
    ),
)  # fmt: skip

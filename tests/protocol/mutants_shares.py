"""Further guards of shares of limits: what asking again, dying and settling must not change."""

from __future__ import annotations

from mutant import Mutant

_AGAIN = "limit_shares::test_who_is_let_in_again_counts_from_then"
_LATER = "limit_shares::test_a_dead_call_that_counts_no_longer_is_left_out"
_NO_PLACE = "limit_shares::test_who_is_let_in_leaves_the_queue"
_WAITS = "limit_shares::test_who_waits_keeps_the_place"
_ELSEWHERE = "limit_shares::test_who_does_not_wait_in_timers_is_not_woken"
SHARE_MUTANTS = (
    Mutant(
        "let in again counts from then",
        "admit",
        "    count(KINDS[1], 1, given.ticket, now + given.window_ms)\n    count(KINDS[2], open.input",
        "    count(KINDS[2], open.input",
        _AGAIN,
    ),
    Mutant(
        "input of who is let in again",
        "admit",
        "    count(KINDS[2], open.input, given.ticket, now + given.window_ms)\n",
        "",
        _AGAIN,
    ),
    Mutant(
        "let in again may be sent late",
        "admit",
        "    open.counted_by = now + given.window_ms + given.arrival_ms\n",
        "",
        _AGAIN,
    ),
    Mutant("a dead call of long ago", "admit", "    if now < open.counted_by then\n", "    if true then\n", _LATER),
    Mutant(
        "who is let in leaves the queue",
        "admit",
        "redis.call('ZREM', QUEUE, given.task)\nif is_limited",
        "if is_limited",
        _NO_PLACE,
    ),
    Mutant(
        "who waits keeps the place",
        "admit",
        "local function waits(due, why)\n  redis.call('ZADD', QUEUE, 'NX', now",
        "local function waits(due, why)\n  redis.call('ZADD', QUEUE, now",
        _WAITS,
    ),
    Mutant(
        "priority of who waits",
        "admit",
        "local function waits(due, why)\n  redis.call('ZADD', QUEUE, 'NX', now + given.behind_ms",
        "local function waits(due, why)\n  redis.call('ZADD', QUEUE, 'NX', now",
        "limit_shares::test_who_waits_keeps_the_place",
    ),
    Mutant(
        "who was settled elsewhere stays there",
        "settle",
        "if need and due > now then redis.call('ZADD', TIMERS, 'XX', now, task) end",
        "if need then redis.call('ZADD', TIMERS, now, task) end",
        _ELSEWHERE,
    ),
    Mutant("a share counts once", "gauge", "used[kind] + added * amount", "used[kind] + amount", _AGAIN),
    Mutant(
        "nothing is no share",
        "gauge",
        "  if amount <= 0 then return end\n",
        "",
        "limit_shares::test_what_is_nothing_is_not_kept",
    ),
    Mutant(
        "who stands further behind asks no later than so much",
        "admit",
        "math.min(redis.call('ZRANK', QUEUE, given.task), given.steps_max)",
        "redis.call('ZRANK', QUEUE, given.task)",
        "limit_shares::test_who_stands_far_behind_asks_in_time",
    ),
    Mutant(
        "the waiting are woken one after the other",
        "open",
        "now + at * given.wake_ms",
        "now",
        "capacity::test_a_probe_that_was_taken_wakes_all",
    ),
    Mutant(
        "a wait is no longer than a window",
        "admit",
        "return math.min(due, now + given.window_ms) + 1, why",
        "return due + 1, why",
        "limit_shares::test_a_wait_is_no_longer_than_a_window",
    ),
)

"""The guards of the gates of models."""

from __future__ import annotations

from mutant import Mutant

CAPACITY_MUTANTS = (
    Mutant(
        "cooling holds calls",
        "admit",
        "if cool and now < cool.till then return cools(cool.till, cool.why) end\n",
        "",
        "capacity::test_while_a_model_cools_nobody_calls",
    ),
    Mutant(
        "one probe at a time",
        "admit",
        "if cool and cool.probe ~= given.task and now < (cool.probe_till or 0) then return cools(cool.probe_till,"
        " CAPACITY.probe) end\n",
        "",
        "capacity::test_when_the_time_is_over_one_call_finds_out",
    ),
    Mutant(
        "a probe that asks again",
        "admit",
        "cool.probe ~= given.task and now < (cool",
        "now < (cool",
        "capacity::test_when_the_time_is_over_one_call_finds_out",
    ),
    Mutant(
        "the right of a probe ends",
        "admit",
        " and now < (cool.probe_till or 0)",
        " and cool.probe",
        "capacity::test_the_right_of_a_lost_probe_passes_on",
    ),
    Mutant(
        "the right of a probe is stored",
        "admit",
        "redis.call('HSET', COOLING, given.gate, cjson.encode(cool))",
        "",
        "capacity::test_when_the_time_is_over_one_call_finds_out",
    ),
    Mutant(
        "place in the queue of a model",
        "admit",
        "local function cools(from, why)\n  redis.call('ZADD', QUEUE, 'NX', now",
        "local function cools(from, why)\n  redis.call('ZADD', QUEUE, now",
        "capacity::test_who_asks_again_keeps_the_place",
    ),
    Mutant(
        "priority in the queue of a model",
        "admit",
        "local function cools(from, why)\n  redis.call('ZADD', QUEUE, 'NX', now + given.behind_ms",
        "local function cools(from, why)\n  redis.call('ZADD', QUEUE, 'NX', now",
        "capacity::test_priority_stands_ahead_and_nobody_starves",
    ),
    Mutant(
        "who stands behind asks later",
        "admit",
        "from + rank * given.step_ms",
        "from",
        "capacity::test_while_a_model_cools_nobody_calls",
    ),
    Mutant(
        "the queue of a model expires",
        "admit",
        "redis.call('PEXPIRE', QUEUE, given.keep_ms)\n",
        "\n",
        "capacity::test_what_is_kept_of_a_model_expires",
    ),
    Mutant(
        "a wait is never shortened",
        "cool",
        "math.max(now + given.delay_ms, readable and cool.till or 0)",
        "now + given.delay_ms",
        "capacity::test_the_wait_is_never_shortened",
    ),
    Mutant(
        "the end of a cooling is kept as long as it lasts",
        "cool",
        "math.max(redis.call('PTTL', COOLING), till - now + given.keep_ms)",
        "till - now + given.keep_ms",
        "capacity::test_what_is_kept_of_a_model_expires",
    ),
    Mutant(
        "only its probe opens a model",
        "open",
        "if not readable or cool.probe ~= given.task then return { 'STALE' } end\n",
        "",
        "capacity::test_only_its_probe_opens_a_model",
    ),
    Mutant(
        "who is due stays due",
        "open",
        "if due > woken then redis.call('ZADD', TIMERS, 'XX', woken, task) end",
        "redis.call('ZADD', TIMERS, 'XX', woken, task)",
        "capacity::test_who_does_not_wait_in_timers_is_not_moved",
    ),
    Mutant(
        "who is elsewhere stays there",
        "open",
        "if due > woken then redis.call('ZADD', TIMERS, 'XX', woken, task) end",
        "if due == 0 or due > woken then redis.call('ZADD', TIMERS, woken, task) end",
        "capacity::test_who_does_not_wait_in_timers_is_not_moved",
    ),
    Mutant(
        "all are woken",
        "open",
        "'ZRANGE', QUEUE, 0, -1",
        "'ZRANGE', QUEUE, 0, 0",
        "capacity::test_a_probe_that_was_taken_wakes_all",
    ),
    Mutant(
        "an open model is forgotten",
        "open",
        "redis.call('HDEL', COOLING, given.gate)\n",
        "",
        "capacity::test_a_probe_that_was_taken_wakes_all",
    ),
    Mutant(
        "the queue of an open model is forgotten",
        "open",
        "if given.limited ~= '1' then redis.call('DEL', QUEUE) end",
        "",
        "capacity::test_a_probe_that_was_taken_wakes_all",
    ),
)

_SHARE = "model_limits::test_over_the_limit_a_call_waits_for_its_time"
_TURNS = "model_limits::test_who_stands_before_is_let_in_before"
_KILLED = "model_limits::test_a_call_that_may_have_been_sent_counts_beside_the_next_one"
_LATE = "model_limits::test_a_call_that_reaches_the_provider_late_counts_from_then"
_SETTLED = "model_limits::test_a_settled_call_counts_with_what_it_used"
_FREE = "model_limits::test_what_becomes_free_is_told_to_those_it_is_enough_for"
LIMIT_MUTANTS = (
    Mutant(
        "limits hold calls",
        "admit",
        "if not fits(need, before) then return waits(due_after(need, before)) end\n",
        "",
        _SHARE,
    ),
    Mutant(
        "a request counts",
        "admit",
        "  count(KINDS[1], 1, given.ticket, now + given.window_ms)\n  count(KINDS[2], need",
        "  count(KINDS[2], need",
        _SHARE,
    ),
    Mutant(
        "input counts", "admit", "  count(KINDS[2], need[KINDS[2]], given.ticket, now + given.window_ms)\n", "", _KILLED
    ),
    Mutant(
        "output counts",
        "admit",
        "  count(KINDS[3], need[KINDS[3]], given.ticket, now + given.window_ms + given.hold_ms)\n",
        "",
        _TURNS,
    ),
    Mutant(
        "the time to ask again",
        "admit",
        "excess, at = excess - tonumber(amount), tonumber(rows[row + 1])",
        "excess = excess - tonumber(amount)",
        _SHARE,
    ),
    Mutant(
        "who stands before is counted", "admit", "      add(before, need_of(other.input, other.output))\n", "", _TURNS
    ),
    Mutant(
        "who is overdue is not counted",
        "admit",
        "elseif other and other.due + given.grace_ms >= now then",
        "elseif other then",
        "model_limits::test_who_is_overdue_is_not_waited_for",
    ),
    Mutant(
        "who never comes is forgotten",
        "admit",
        "if other and other.due + given.keep_ms < now then",
        "if false then",
        "model_limits::test_who_is_overdue_is_not_waited_for",
    ),
    Mutant(
        "let in once",
        "admit",
        "if open and open.ticket == given.ticket then",
        "if false then",
        "model_limits::test_a_call_that_was_let_in_is_not_let_in_twice",
    ),
    Mutant(
        "another call of the task", "admit", "if open and open.ticket == given.ticket then", "if open then", _KILLED
    ),
    Mutant("output of a dead call", "admit", "    uncount(KINDS[3], open.output, open.ticket)\n", "", _KILLED),
    Mutant("a dead call counts from now", "admit", "      count(KINDS[1], 1, open.ticket, until_ms)\n", "", _LATE),
    Mutant(
        "who waits has a need",
        "admit",
        "    redis.call('HSET', GATE, 'w:' .. given.task, cjson.encode({ input = given.input, output = given.output,"
        " due = due }))\n",
        "",
        _TURNS,
    ),
    Mutant(
        "who is let in waits no longer",
        "admit",
        "  redis.call('HDEL', GATE, 'w:' .. given.task)\n  redis.call('ZADD', GATES",
        "  redis.call('ZADD', GATES",
        "model_limits::test_who_is_let_in_waits_no_longer",
    ),
    Mutant(
        "place behind the more urgent",
        "admit",
        "'(' .. score",
        "'(' .. (now + 1000000)",
        "model_limits::test_urgent_calls_stand_ahead",
    ),
    Mutant(
        "what is over counts no longer",
        "gauge",
        "      used[kind] = used[kind] - tonumber(amount)\n",
        "",
        "model_limits::test_a_call_that_took_longer_than_a_window_counts_no_longer",
    ),
    Mutant(
        "an open call counts from its sending",
        "gauge",
        "if is_open and kind ~= KINDS[3] and now < open.counted_by then",
        "if false then",
        _LATE,
    ),
    Mutant(
        "a lost call is forgotten",
        "gauge",
        "      if is_open and kind == KINDS[3] then redis.call('HDEL', GATE, 't:' .. task) end\n",
        "",
        "model_limits::test_what_is_kept_of_limits_expires",
    ),
    Mutant(
        "lost sums",
        "gauge",
        "  if redis.call('ZCARD', USED) == 0 then for _, kind in ipairs(KINDS) do used[kind] = 0 end end\n",
        "",
        "model_limits::test_sums_that_were_lost_begin_anew",
    ),
    Mutant(
        "more than all",
        "gauge",
        "need[kind] = math.min(need[kind], most[kind])",
        "need[kind] = need[kind]",
        "model_limits::test_more_than_all_is_all",
    ),
    Mutant(
        "limits expire",
        "gauge",
        "  for _, key in ipairs({ USED, GATE, QUEUE }) do redis.call('PEXPIRE', key, given.keep_ms) end\n",
        "",
        "model_limits::test_what_is_kept_of_limits_expires",
    ),
    Mutant(
        "only its ticket settles a call",
        "settle",
        "if not open or open.ticket ~= given.ticket then",
        "if not open then",
        _SETTLED,
    ),
    Mutant("expected input is given back", "settle", "uncount(KINDS[2], open.input, given.ticket)\n", "", _SETTLED),
    Mutant("expected output is given back", "settle", "uncount(KINDS[3], open.output, given.ticket)\n", "", _SETTLED),
    Mutant(
        "output counts from the end",
        "settle",
        "given.output, given.ticket, now +",
        "given.output, given.ticket, answered +",
        _SETTLED,
    ),
    Mutant(
        "requests count from the answer",
        "settle",
        "count(KINDS[1], 1, given.ticket, answered + given.window_ms)\n",
        "",
        _SETTLED,
    ),
    Mutant(
        "who fits is woken",
        "settle",
        "if need and due > now then redis.call('ZADD', TIMERS, 'XX', now, task) end",
        "",
        _FREE,
    ),
    Mutant("who does not fit is not woken", "settle", "if need and not fits(need, before) then break end\n", "", _FREE),
    Mutant("those before are counted", "settle", "  if need then add(before, need) end\n", "", _FREE),
    Mutant(
        "turns are kept",
        "open",
        "if given.limited ~= '1' then redis.call('DEL', QUEUE) end",
        "redis.call('DEL', QUEUE)",
        "model_limits::test_a_model_that_cools_gives_nothing_away",
    ),
)

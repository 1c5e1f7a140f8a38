"""The guards of limits that are learned from a provider."""

from __future__ import annotations

from mutant import Mutant

_KEPT = "learned_limits::test_a_limit_of_which_little_is_left_is_kept"
_ANEW = "learned_limits::test_what_is_told_anew_replaces_it"
_OVER = "learned_limits::test_after_its_time_it_is_kept_no_longer"
_ONCE = "learned_limits::test_what_counts_already_counts_once"
LEARNED_MUTANTS = (
    Mutant(
        "little left is kept",
        "heard",
        "kept.limits[kind], kept.till = heard.limits[kind], now + given.kept_ms",
        "",
        _KEPT,
    ),
    Mutant(
        "enough left is not kept",
        "heard",
        "  if kept.till == 0 then return false end\n",
        "",
        "learned_limits::test_while_enough_is_left_nothing_is_kept",
    ),
    Mutant("kept for a while", "heard", "  redis.call('PEXPIRE', KEPT, given.kept_ms)\n", "", _KEPT),
    Mutant("the time of what is kept", "heard", " or kept.till <= now then", " then", _OVER),
    Mutant("what is kept is read", "heard", "if not readable or kept.till <= now then", "if true then", _ANEW),
    Mutant("told anew", "heard", "    if kept.limits[kind] then kept.limits[kind] = most end\n", "", _ANEW),
    Mutant(
        "only what is kept is replaced",
        "heard",
        "if kept.limits[kind] then kept.limits[kind] = most end",
        "kept.limits[kind] = most",
        "learned_limits::test_one_kind_is_kept_beside_another",
    ),
    Mutant("what others have used", "heard", "count(kind, theirs - used[kind]", "count(kind, 0", _KEPT),
    Mutant("what we have counted", "heard", "theirs - used[kind]", "theirs", _ONCE),
    Mutant(
        "what is over by now",
        "heard",
        "if till > now then count",
        "if true then count",
        "learned_limits::test_what_was_told_long_ago_counts_no_longer",
    ),
    Mutant("what others have used is stored", "learn", "  save()\n", "", _KEPT),
    Mutant("a learned limit is shown", "learn", "  redis.call('ZADD', GATES, now, given.gate)\n", "", _KEPT),
    Mutant("a settled call tells", "settle", "if given.heard ~= '' then hear() end\n", "", _ANEW),
)

"""The guards of what is stored of observers."""

from __future__ import annotations

from mutant import Mutant

HOOK_MUTANTS = (
    Mutant(
        "who tells events notes places",
        "observe",
        "if redis.call('GET', OBSERVING) ~= given.token then return { 'STALE' } end\n",
        "",
        "observers::test_who_was_followed_by_another_notes_nothing",
    ),
    Mutant(
        "each note holds on",
        "observe",
        "redis.call('PEXPIRE', OBSERVING, given.hold_ms)\n",
        "",
        "observers::test_each_note_holds_on",
    ),
    Mutant(
        "what is settled goes",
        "observe",
        "redis.call('HDEL', PUT_BY, given.event)",
        "",
        "observers::test_what_is_settled_is_gone_and_what_is_asked_for_again_begins_anew",
    ),
)

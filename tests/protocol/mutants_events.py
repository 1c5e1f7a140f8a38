"""What the writing of events stands on, each with the contract test that must notice its absence."""

from __future__ import annotations

from mutant import Mutant

TEST = "events::"
INDEXED = "test_each_event_is_in_both_streams_under_one_id"
CAUSED = "test_who_or_what_it_was"

EVENTS_MUTANTS = (
    Mutant(
        "event among those of all tasks", "prelude", "XADD', ALL_EVENTS, '*', kind, ID)",
        "XADD', ALL_EVENTS, '*', 'Other', ID)", TEST + INDEXED,
    ),
    Mutant(
        "one id for both streams", "prelude", "redis.pcall('XADD', EVENTS, id,", "redis.pcall('XADD', EVENTS, '*',",
        TEST + "test_a_clock_that_has_gone_back_costs_no_event",
    ),
    Mutant(
        "no event twice where the clock went back", "prelude", "    redis.call('XDEL', ALL_EVENTS, id)\n", "",
        TEST + "test_a_clock_that_has_gone_back_costs_no_event",
    ),
    Mutant(
        "numbered anew where the clock went back", "prelude", "    redis.call('XADD', ALL_EVENTS, id, kind, ID)\n", "",
        TEST + "test_a_clock_that_has_gone_back_costs_no_event",
    ),
    Mutant(
        "cause of a cancel", "prelude", "is_asked_for and CAUSE.person or nil", "nil", TEST + CAUSED,
    ),
    Mutant("cause of a pause", "prelude", "why == 'user' and CAUSE.person or nil", "nil", TEST + CAUSED),
    Mutant(
        "cause of an answer at its deadline", "signals", "given.by == 'timeout' and CAUSE.deadline or CAUSE.person",
        "CAUSE.person", TEST + CAUSED,
    ),
    Mutant(
        "cause of a recovery", "recover", "(stalled or evidence == EVIDENCE.expired) and CAUSE.sweep or CAUSE.watcher",
        "CAUSE.watcher", TEST + CAUSED,
    ),
    Mutant(
        "fence of a claim's events", "claiming", "tells(CAUSE.worker, row.iteration, row.fence + 1)",
        "tells(CAUSE.worker, row.iteration, row.fence)",
        TEST + "test_a_turn_tells_turn_and_fence_and_that_it_was_a_worker",
    ),
    Mutant(
        "turn of a write's events", "changes", "tells(CAUSE.worker, row.iteration, given.fence)",
        "tells(CAUSE.worker, 0, given.fence)", TEST + "test_a_turn_tells_turn_and_fence_and_that_it_was_a_worker",
    ),
    *(
        Mutant(
            f"the stream of all tasks bounded by {writes}", file, "trim_all_events(given.namespace_events_max)", "",
            TEST + "test_the_stream_of_the_namespace_is_bounded", {"writes": writes},
        )
        for writes, file in (("create", "create"), ("claim", "claiming"), ("send", "signals"))
    ),
)  # fmt: skip

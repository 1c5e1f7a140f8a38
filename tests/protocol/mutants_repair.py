"""The guards of repair, each with the contract test that must notice its absence."""

from __future__ import annotations

from mutant import Mutant

REQUEUED = "{ seq = row.seq + 1, fence = row.fence + 1, unsafe_until = unsafe_until }"
LOST_LEASE = "repair::test_whoever_held_a_lost_lease_writes_no_more"

REPAIR_MUTANTS = (
    Mutant(
        "fence raised by repair",
        "repair",
        REQUEUED,
        "{ seq = row.seq + 1, unsafe_until = unsafe_until }",
        LOST_LEASE,
    ),
    Mutant(
        "seq raised by repair",
        "repair",
        REQUEUED,
        "{ fence = row.fence + 1, unsafe_until = unsafe_until }",
        LOST_LEASE,
    ),
    Mutant(
        "deadline of a lost lease's holder",
        "repair",
        REQUEUED,
        "{ seq = row.seq + 1, fence = row.fence + 1 }",
        LOST_LEASE,
    ),
    Mutant(
        "a lease before other places",
        "repair",
        "keep = keep or (inside[name] and name) end",
        "keep = inside[name] and name or keep end",
        "repair::test_a_lease_wins_over_other_places",
    ),
    Mutant(
        "records of newer releases",
        "repair",
        "> SCHEMA then return { 'NEWER', unpack(found) } end",
        "> SCHEMA then local _ = 0 end",
        "repair::test_what_a_newer_release_wrote_is_left_alone",
    ),
    Mutant(
        "ended tasks whose keys have expired",
        "repair",
        "if retained then return end",
        "",
        "repair::test_an_ended_task_whose_keys_expired_is_left_to_delete",
    ),
)

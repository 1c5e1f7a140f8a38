"""The guards of counts, ages and events, each with the contract test that must notice its absence."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.model.task import Status
from neuraphage.ports import FinishTo, RecoverVerdict, SignalKind

COUNT_MUTANTS = (
    Mutant(
        "token chain anew at claim",
        "claiming",
        "claim = claim, token = 0, lease_ms",
        "claim = claim, lease_ms",
        "counts::test_each_claim_begins_its_own_chain_of_writes",
    ),
    Mutant(
        "age that begins anew with each write",
        "changes",
        "{ token = token, saved_at = now }",
        "{ token = token }",
        "counts::test_every_write_of_a_holder_makes_its_task_young",
        {"write": "commit"},
    ),
    Mutant(
        "crash count reset by a resume",
        "resume",
        "{ seq = seq, recoveries = 0, stalls = 0 }",
        "{ seq = seq, stalls = 0 }",
        "counts::test_who_is_resumed_has_all_its_tries_again",
        {"answered": False},
    ),
    Mutant(
        "crash count reset by an outcome alone",
        "changes",
        "if given.outcome == '1' and row.recoveries ~= '0' then",
        "if row.recoveries ~= '0' then",
        "commit::test_an_outcome_clears_the_poison_count",
    ),
    Mutant(
        "stalls forgotten at an outcome alone",
        "changes",
        "if given.outcome == '1' and (row.stalls or '0') ~= '0' then",
        "if (row.stalls or '0') ~= '0' then",
        "counts::test_only_an_outcome_forgets_stalls",
    ),
    Mutant(
        "seq raised by finish",
        "finishing",
        "set.seq = seq\n",
        "",
        "counts::test_the_seq_that_an_answer_names_is_the_one_that_claims",
        {"to": FinishTo.NEXT},
    ),
    Mutant(
        "writes to a task that is over",
        "changes",
        "  if TERMINAL[row.status] then return 'STALE' end\n",
        "  if TERMINAL[row.status] then return 'LOST' end\n",
        "counts::test_a_task_that_is_over_takes_no_write_of_its_last_holder",
        {"to": FinishTo.COMPLETED},
    ),
    Mutant(
        "a lease without a record",
        "recover",
        "if not row.status or not expiry then",
        "if not expiry then",
        "counts::test_a_lease_without_a_record_makes_none",
    ),
    Mutant(
        "limits told with a retry",
        "revive",
        "if next(raised) then tell_limits(raised) end\n",
        "",
        "told::test_changed_limits",
        {"kind": SignalKind.RETRY},
    ),
    Mutant(
        "an end is no recovery",
        "recover",
        "if verdict ~= 'FAILED' and verdict ~= 'CANCELLED' then event(",
        "if true then event(",
        "told::test_recoveries",
        {"verdict": RecoverVerdict.FAILED},
    ),
    Mutant(
        "flags of a repeated commit",
        "commit",
        "return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' } end",
        "return { 'COMMITTED', '0', '0' } end",
        "told::test_a_repeated_commit_tells_what_people_asked_for",
    ),
    Mutant(
        "no deadline where none was set",
        "changes",
        "if groups.opened[i + 2] ~= '0' and not answered then",
        "if not answered then",
        "claim::test_a_task_outside_the_outbox_is_not_runnable",
        {"status": Status.WAITING_FOR_USER},
    ),
    Mutant(
        "no answer is remembered of plain input",
        "deliver",
        "  redis.call('RPUSH', INBOX, value)\n  if given.kind == SIGNAL.answer then",
        "  redis.call('RPUSH', INBOX, value)\n  if true then",
        "signal::test_input_wakes_a_conversation",
    ),
    Mutant(
        "a reply that is there outlives a retry",
        "revive",
        "elseif call == EFFECT.failed then",
        "else",
        "counts::test_a_retry_keeps_the_reply_that_is_there",
    ),
    Mutant(
        "journal forgotten by a reset",
        "revive",
        "  redis.call('DEL', TURN)\nelseif",
        "  elseif",
        "signal::test_reset_archives_and_starts_over",
    ),
)

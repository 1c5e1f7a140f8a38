"""Each guard of the scripts, taken out by an exact change of text, with the contract tests that must notice.

A test is named `<file>::<function>`, with its parameters where it has any.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from neuraphage.model.task import Status
from neuraphage.ports import FinishTo, SuspendTo

REFUSAL = "if row.fence ~= fence or row.claim ~= claim or not has_lease() then return 'STALE' end"


@dataclass(frozen=True)
class Mutant:
    """One guard taken out.

    Args:
        name: the guard.
        script: file that holds it, without `.lua`.
        old, new: text that occurs exactly once, and what stands there instead.
        test: the contract test that must fail.
        given: the test's parameters.
    """

    name: str
    script: str
    old: str
    new: str
    test: str
    given: dict[str, Any] = field(default_factory=dict)


MUTANTS = (
    Mutant(
        "fence comparison of a write",
        "changes",
        REFUSAL,
        "if row.claim ~= claim or not has_lease() then return 'STALE' end",
        "commit::test_another_fence_is_stale",
    ),
    Mutant(
        "claim id comparison of a write",
        "changes",
        REFUSAL,
        "if row.fence ~= fence or not has_lease() then return 'STALE' end",
        "commit::test_another_claim_with_the_same_fence_is_stale",
    ),
    Mutant(
        "lease required for a write",
        "changes",
        REFUSAL,
        "if row.fence ~= fence or row.claim ~= claim then return 'STALE' end",
        "commit::test_after_suspend_the_lease_is_stale",
    ),
    Mutant(
        "claim id in the replay check",
        "changes",
        "if row.claim == claim and tonumber(row.token) == token then return 'REPLAY' end",
        "if tonumber(row.token) == token then return 'REPLAY' end",
        "commit::test_another_claim_with_the_same_fence_is_stale",
    ),
    Mutant(
        "replay before fence",
        "changes",
        "if row.claim == claim and tonumber(row.token) == token then return 'REPLAY' end",
        "if row.claim == claim and row.fence == fence and tonumber(row.token) == token then return 'REPLAY' end",
        "commit::test_a_replay_is_recognised_after_the_lease_is_gone",
    ),
    Mutant(
        "replay of commit",
        "commit",
        "if refused == 'REPLAY' then return { 'COMMITTED', row.pause and '1' or '0', row.cancel and '1' or '0' } end",
        "if refused == 'REPLAY' then refused = nil end",
        "commit::test_a_replay_gets_the_same_answer_and_writes_nothing",
    ),
    Mutant(
        "commit is no replay of a suspend",
        "commit",
        "if refused == 'REPLAY' and row.verdict ~= '' then return { 'LOST' } end",
        "",
        "commit::test_a_commit_is_not_a_replay_of_a_suspend",
    ),
    Mutant(
        "replay of suspend",
        "suspend",
        "if refused == 'REPLAY' then return replayed() end",
        "if refused == 'REPLAY' then refused = nil end",
        "suspend::test_a_replay_gets_the_same_answer",
        {"to": SuspendTo.SHUTDOWN, "flag": None},
    ),
    Mutant(
        "replay of finish",
        "finish",
        "if refused == 'REPLAY' then return replayed() end",
        "if refused == 'REPLAY' then refused = nil end",
        "finish::test_a_replay_gets_the_same_answer",
        {"to": FinishTo.FAILED, "flag": None},
    ),
    Mutant(
        "verdict belongs to the token",
        "changes",
        "if not row.verdict or row.verdict == '' then return { 'LOST' } end",
        "if not row.verdict or row.verdict == '' then return { 'COMMITTED', row.status, 'outbox', row.seq, '0' } end",
        "commit::test_a_suspend_is_not_a_replay_of_a_commit",
        {"turns_before": 1},
    ),
    Mutant(
        "token chain",
        "changes",
        "if tonumber(row.token) ~= token - 1 then return 'LOST' end",
        "",
        "commit::test_a_lost_tail_inside_the_claim_is_seen",
    ),
    Mutant(
        "iteration of finish",
        "finish",
        "if ARGV[at + 2] ~= row.iteration then return { 'LOST' } end",
        "",
        "finish::test_another_iteration_is_lost",
    ),
    Mutant(
        "seq check of claim",
        "claim",
        "if row.seq ~= seq then return { 'STALE' } end",
        "",
        "claim::test_another_seq_is_stale",
    ),
    Mutant(
        "outbox membership of claim",
        "claim",
        "if not redis.call('ZSCORE', OUTBOX, ID) then",
        "if false then",
        "claim::test_a_doubled_message_finds_the_task_leased",
    ),
    Mutant(
        "outbox removal at claim",
        "claim",
        "redis.call('ZREM', OUTBOX, ID)\n",
        "",
        "claim::test_grants_a_queued_task_with_all_a_turn_needs",
    ),
    Mutant(
        "same claim id, same grant",
        "claim",
        "if row.claim == claim and has_lease() then return granted(now_ms()) end",
        "",
        "claim::test_the_same_claim_id_gets_the_same_grant",
    ),
    Mutant(
        "lease of a repeated claim",
        "claim",
        "if row.claim == claim and has_lease() then",
        "if row.claim == claim then",
        "claim::test_a_used_claim_id_is_worth_nothing_later",
    ),
    Mutant(
        "fence raised by claim",
        "claim",
        "fence = row.fence + 1, claim = claim",
        "fence = row.fence, claim = claim",
        "claim::test_each_claim_raises_the_fence",
    ),
    Mutant(
        "cancel resolved by claim",
        "claim",
        "if row.cancel then",
        "if false then",
        "claim::test_flags_are_resolved_inside",
        {"flag": "cancel", "status": "Cancelled", "place": ""},
    ),
    Mutant(
        "pause resolved by claim",
        "claim",
        "if row.pause then",
        "if false then",
        "claim::test_flags_are_resolved_inside",
        {"flag": "pause", "status": "Paused", "place": "waits"},
    ),
    Mutant(
        "cancel resolved by suspend",
        "suspend",
        "if row.cancel then",
        "if false then",
        "suspend::test_cancel_comes_first",
        {"to": SuspendTo.SHUTDOWN},
    ),
    Mutant(
        "pause resolved by suspend",
        "suspend",
        "elseif row.pause then",
        "elseif false then",
        "suspend::test_pause_comes_next",
        {"to": SuspendTo.SHUTDOWN},
    ),
    Mutant(
        "cancel resolved by finish",
        "finish",
        "elseif row.cancel then",
        "elseif false then",
        "finish::test_cancel_comes_first",
        {"to": FinishTo.NEXT},
    ),
    Mutant(
        "cancel before completed",
        "finish",
        "if to == 'completed' and not row.cancel then",
        "if to == 'completed' then",
        "finish::test_cancel_comes_first",
        {"to": FinishTo.COMPLETED},
    ),
    Mutant(
        "pause resolved by finish",
        "finish",
        "elseif row.pause then",
        "elseif false then",
        "finish::test_pause_comes_next",
        {"to": FinishTo.NEXT},
    ),
    Mutant(
        "unread input of a completed task",
        "finish",
        "if to == 'completed' and unread() then to = 'next' end",
        "",
        "finish::test_unread_input_makes_completed_go_on",
    ),
    Mutant(
        "inbox check of suspend into a wait",
        "suspend",
        "if inbox_ready() then",
        "if false then",
        "suspend::test_an_answer_that_was_faster_goes_on",
    ),
    Mutant(
        "inbox check of finish into a wait",
        "finish",
        "if inbox_ready() then",
        "if false then",
        "finish::test_a_wait_whose_word_is_there_goes_on",
        {"kind": "input"},
    ),
    Mutant(
        "inbox check of resume",
        "signal",
        "if #open_prompts() > 0 and not inbox_ready() then",
        "if #open_prompts() > 0 then",
        "signal::test_resume_with_the_answer_goes_on",
    ),
    Mutant(
        "prompts checked by resume",
        "signal",
        "if #open_prompts() > 0 and not inbox_ready() then",
        "if false then",
        "signal::test_resume_without_the_answer_waits_again",
    ),
    Mutant(
        "an answer wakes the task",
        "signal",
        "if row.status == 'WaitingForUser' and inbox_ready() then",
        "if false then",
        "signal::test_input_wakes_a_conversation",
    ),
    Mutant(
        "answer only while the prompt is open",
        "signal",
        "redis.call('HEXISTS', TASK, 'p:' .. prompt) == 0 or ",
        "",
        "signal::test_a_closed_prompt_takes_no_answer",
    ),
    Mutant(
        "answer only once",
        "signal",
        " or redis.call('HEXISTS', TASK, 'a:' .. prompt) == 1",
        "",
        "signal::test_an_open_prompt_takes_its_answer_in_every_status",
        {"status": Status.RUNNING},
    ),
    Mutant(
        "idempotency key of signal",
        "signal",
        "if redis.call('ZSCORE', SIGNALS, key) then return reply('REPEATED') end",
        "",
        "signal::test_every_kind_in_every_status",
        {"kind": "input", "status": Status.QUEUED},
    ),
    Mutant(
        "signals of a task that is over",
        "signal",
        "if TERMINAL[row.status] then return reply('ILLEGAL') end",
        "",
        "signal::test_every_kind_in_every_status",
        {"kind": "cancel", "status": Status.COMPLETED},
    ),
    Mutant(
        "limit of the inbox",
        "signal",
        "if kind == 'input' and redis.call('LLEN', INBOX) >= number(9) then return reply('FULL') end",
        "",
        "signal::test_a_full_inbox_refuses_input",
    ),
    Mutant(
        "fence raised by retry",
        "signal",
        "fence = row.fence + 1, recoveries = 0, saved_at",
        "recoveries = 0, saved_at",
        "signal::test_revival_shuts_the_former_holder_out",
        {"kind": "retry"},
    ),
    Mutant(
        "idempotency key of create",
        "create",
        "if first then return { 'EXISTS', first } end",
        "",
        "places::test_create_is_idempotent",
    ),
    Mutant(
        "create over an existing task",
        "create",
        "redis.call('EXISTS', TASK) == 1 or ",
        "",
        "places::test_create_never_overwrites",
    ),
    Mutant(
        "tombstone at create",
        "create",
        " or redis.call('ZSCORE', TOMBSTONES, ID)",
        "",
        "places::test_delete_leaves_a_tombstone",
        {"status": Status.COMPLETED},
    ),
    Mutant(
        "two visits of an expired lease",
        "recover",
        "if tonumber(marked_expiry) ~= expiry then",
        "first_seen = first_seen or 0\n  if false then",
        "recover::test_expired_needs_two_visits",
    ),
    Mutant(
        "distance of the two visits",
        "recover",
        "if now - first_seen < number(8) then",
        "if false then",
        "recover::test_expired_needs_two_visits",
    ),
    Mutant(
        "suspicion cleared by renewal",
        "recover",
        "if tonumber(marked_expiry) ~= expiry then",
        "if not mark then",
        "recover::test_a_renewal_clears_the_suspicion",
    ),
    Mutant(
        "expiry by server time",
        "recover",
        "if expiry > now then return { 'STALE' } end",
        "",
        "recover::test_a_running_lease_has_not_expired",
    ),
    Mutant(
        "fence comparison of recover",
        "recover",
        "or row.fence ~= fence or row.claim ~= claim then",
        "or row.claim ~= claim then",
        "recover::test_a_lease_that_moved_is_left_alone",
        {"evidence": "gone", "change": {"fence": 9}},
    ),
    Mutant(
        "claim id comparison of recover",
        "recover",
        "or row.fence ~= fence or row.claim ~= claim then",
        "or row.fence ~= fence then",
        "recover::test_a_lease_that_moved_is_left_alone",
        {"evidence": "gone", "change": {"claim_id": "other"}},
    ),
    Mutant(
        "owner comparison of recover",
        "recover",
        "elseif row.owner ~= process then",
        "elseif false then",
        "recover::test_another_owners_lease_is_left_alone",
        {"evidence": "gone"},
    ),
    Mutant(
        "poison count",
        "recover",
        "if recoveries >= number(6) then",
        "if false then",
        "recover::test_the_third_fruitless_recovery_is_poison",
    ),
    Mutant(
        "age rule",
        "recover",
        "if begun and now - row.saved_at > number(7) then",
        "if false then",
        "recover::test_an_old_save_is_not_resumed_by_itself",
        {"begun": True, "verdict": "FAILED"},
    ),
    Mutant(
        "absence before a later death",
        "recover",
        "unsafe_until = math.max(unsafe_until, expiry) end",
        "unsafe_until = expiry else unsafe_until = 0 end",
        "recover::test_a_second_death_does_not_hide_the_first_absence",
    ),
    Mutant(
        "fence comparison of renew",
        "renew",
        "row[1] == ARGV[at + 1] and ",
        "",
        "renew::test_somebody_elses_lease_is_lost",
        {"change": {"fence": 9}},
    ),
    Mutant(
        "claim id comparison of renew",
        "renew",
        "row[2] == ARGV[at + 2] and ",
        "",
        "renew::test_somebody_elses_lease_is_lost",
        {"change": {"claim_id": "other"}},
    ),
    Mutant(
        "lease required for renew",
        "renew",
        " and redis.call('ZSCORE', KEYS[1], ARGV[at])",
        "",
        "renew::test_a_dropped_lease_does_not_come_back",
    ),
    Mutant(
        "due time of a timer",
        "fire",
        " or tonumber(due) > now then",
        " then",
        "places::test_a_due_timer_fires_once",
    ),
)

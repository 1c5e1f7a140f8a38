"""The guards of pauses for anomalies, each with the contract test that must notice its absence."""

from __future__ import annotations

from mutant import Mutant

ANOMALY_MUTANTS = (
    Mutant(
        "a message is heard before a pause for an anomaly",
        "suspend",
        "elseif to == SUSPEND_TO.anomaly and not has_input() then",
        "elseif to == SUSPEND_TO.anomaly then",
        "anomaly::test_a_message_that_came_meanwhile_is_heard_first",
    ),
    Mutant(
        "a message goes on with a task that was paused for an anomaly",
        "deliver",
        "if given.kind == SIGNAL.input and is_paused_for_anomaly() then",
        "if false then",
        "anomaly::test_a_message_goes_on_with_it",
    ),
    Mutant(
        "what is awaited comes before a message",
        "deliver",
        "if waits_for_tasks() then hold_back(row, now, { seq = seq }, given.events_max)",
        "if false then hold_back(row, now, { seq = seq }, given.events_max)",
        "anomaly::test_a_message_does_not_go_before_what_is_awaited",
    ),
    Mutant(
        "no other pause ends with a message",
        "deliver",
        "return readable and type(detail) == 'table' and detail.reason == SUSPEND_TO.anomaly",
        "return true",
        "anomaly::test_a_message_goes_on_with_no_other_pause",
    ),
    Mutant(
        "what was seen is kept with the pause",
        "prelude",
        "detail[why == 'money' and 'shortage' or SUSPEND_TO.anomaly] = about",
        "detail.shortage = why == 'money' and about or nil",
        "anomaly::test_it_is_paused_with_what_was_seen",
    ),
)

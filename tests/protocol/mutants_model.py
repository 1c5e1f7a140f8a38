"""The guards of the models of a task, each with the contract test that must notice its absence."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.model.task import Status

MODEL_MUTANTS = (
    Mutant(
        "model of a cancelled task", "model", "row.status == STATUS.Cancelled or given.model == ''",
        "given.model == ''",
        "model::test_a_cancelled_task_takes_none",
    ),
    Mutant(
        "no model at all", "model", "row.status == STATUS.Cancelled or given.model == ''",
        "row.status == STATUS.Cancelled", "model::test_no_model_is_none",
    ),
    Mutant(
        "expiry after the model of an ended task", "model",
        "if TERMINAL[row.status] then redis.call('PEXPIRE', SIGNALS, given.exec_ms) end\n", "",
        "model::test_an_ended_task_is_kept_no_longer", {"status": Status.FAILED},
    ),
    Mutant(
        "model that a person has set meanwhile", "changes",
        "if groups.model[1] and (redis.call('HMGET', TASK, 'model')[1] or '') == groups.model[1] then",
        "if groups.model[1] then", "model::test_what_a_person_has_set_meanwhile_stays",
    ),
    Mutant(
        "change of the model is told", "changes",
        "  if set.model then event(EVENT.ModelChanged, groups.model[3], given.events_max) end\n", "",
        "model::test_a_turn_sets_another_one",
    ),
)  # fmt: skip

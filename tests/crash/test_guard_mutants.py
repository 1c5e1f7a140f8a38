"""Each guard outside the scripts, taken away alone, is missed: its scenario passes with it and fails without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from crash_cases import Case, Outcome, run_case, run_cases
from crash_driver import Finder
from crash_facts import Facts
from crash_judge import problems, ring_window
from crash_world import Site
from crash_zombies import run_lost_tail, run_zombie, run_zombie_beside

import neuraphage.runtime.tool_step
from neuraphage.decide.hashing import sha256_hex
from neuraphage.errors import LeaseLost
from neuraphage.model.detached import DetachedState
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.spool import CommandSpool
from neuraphage.testing import CrashPoint

pytestmark = pytest.mark.real_redis

JOBS = 5
RING_ANNOUNCED = "ring announced"
"""Stands for the crash point after the commit that announces the un-spooled opaque tool."""

# --- the mutants: each changes one small thing, in the processes of one case --------------------------------


def effect_before_journal() -> None:
    """Nothing is committed before an effect; what it came to is committed with its announcement."""
    UnitOfWork.begin_effect = lambda self: None


def no_own_deadline() -> None:
    """A worker starts effects however late its confirmation came."""
    HeldLease.may_start = lambda self: True


def effect_id_of_parameters() -> None:
    """Two calls with the same parameters are one effect."""
    neuraphage.runtime.tool_step.effect_id = lambda task_id, _, params: sha256_hex([task_id, params])[:32]


def seal_does_nothing() -> None:
    """A seal is only said, never written."""
    CommandSpool.seal = lambda self, effect_id: DetachedState.SEALED


def start_ignores_seals() -> None:
    """A sealed command starts."""
    start = CommandSpool.start

    def mutant(self, command):
        if self.look(command.effect_id, 10).state is DetachedState.SEALED:
            (self._root / command.effect_id / "decision").unlink()
        return start(self, command)

    CommandSpool.start = mutant


def start_is_not_exclusive() -> None:
    """A command that was started before starts again."""
    start = CommandSpool.start

    def mutant(self, command):
        shutil.rmtree(self._root / command.effect_id, ignore_errors=True)
        return start(self, command)

    CommandSpool.start = mutant


def kill_on_stale() -> None:
    """A worker that lost its lease ends the command it waits for."""
    wait = CommandSpool.wait

    def mutant(self, effect_id, output_limit_chars, interrupt):
        try:
            return wait(self, effect_id, output_limit_chars, interrupt)
        except LeaseLost:
            self.cancel(effect_id)
            raise

    CommandSpool.wait = mutant


def every_commit_counts_as_outcome() -> None:
    """A commit without an outcome clears the poison count."""
    note = UnitOfWork.note
    UnitOfWork.note = lambda self, **changes: note(self, **(changes | {"outcome": True}))


def announced_without_verdict() -> None:
    """What a guard has said of a call is not stored with the announcement."""
    note = UnitOfWork.note

    def mutant(self, *, journal=(), **changes):
        forgotten = [entry.model_copy(update={"guarded": {}}) for entry in journal]
        note(
            self,
            journal=[new if new.state == "started" else old for new, old in zip(forgotten, journal, strict=True)],
            **changes,
        )

    UnitOfWork.note = mutant


# --- scenarios ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard:
    """One guard and what shows that it is there.

    Args:
        mutant: takes it away.
        symptom: what then goes wrong, as `wrong` says it; a mutant that only breaks the scenario is not caught.
        points: where processes die or stop.
        run: the scenario.
        fails_for_good: whether the task must end as Failed, instead of as the reference.
    """

    mutant: Callable[[], None]
    symptom: str
    points: tuple[str, ...] = ()
    run: Callable[[Case, Site], None] = run_case
    fails_for_good: bool = False


THIRD_RUN = r"'ran': 'x\nx\nx\n'"
GUARDS = (
    Guard(effect_before_journal, "the un-spooled tool ran 2 times", ("Tool.run:ring#1.after",)),
    Guard(no_own_deadline, "the un-spooled tool ran 1 times, not 0", (RING_ANNOUNCED,), run_zombie),
    Guard(effect_id_of_parameters, "deposits: 1, not 2"),
    Guard(announced_without_verdict, "deposits: 3, not 2", ("Tool.run:deposit#1.after",)),
    Guard(seal_does_nothing, THIRD_RUN, ("Spool.start#1.after",)),
    Guard(start_ignores_seals, THIRD_RUN, ("Spool.start#1.before",), run_zombie),
    Guard(start_is_not_exclusive, THIRD_RUN, (), run_lost_tail),
    Guard(kill_on_stale, "cancelled; the command was ended", ("Spool.wait#1.before",), run_zombie_beside),
    Guard(
        every_commit_counts_as_outcome,
        "status Completed, not Failed",
        ("ModelClient.call#1.before",) * 3,
        fails_for_good=True,
    ),
)


def mutated(guard: Guard) -> Callable[[Case, Site], None]:
    """The scenario of a guard without it."""

    def run(case: Case, site: Site) -> None:
        guard.mutant()
        guard.run(case, site)

    return run


def cases_of(guard: Guard, reference: Outcome) -> tuple[Case, Case]:
    """The scenario with the guard, and without."""
    announced = ring_window(reference.calls)[0][0]
    points = tuple(announced if text == RING_ANNOUNCED else CrashPoint.parse(text) for text in guard.points)
    name, finders = guard.mutant.__name__, (Finder.WATCHER,) * len(points)
    return (
        Case(f"{name}/guarded", points, finders, run=guard.run),
        Case(f"{name}/mutant", points, finders, run=mutated(guard)),
    )


def wrong(guard: Guard, outcome: Outcome, reference: Outcome, paid: dict[str, list[str]]) -> list[str]:
    """What is wrong with one scenario's end."""
    facts: Facts | None = outcome.facts
    if guard.fails_for_good and facts is not None:
        return [] if facts.status == "Failed" else [f"status {facts.status}, not Failed"]
    assert reference.facts is not None
    return problems(outcome, reference.facts, reference.calls, paid)


def test_every_guard_is_missed_when_it_is_gone(bench, announce, request):
    """All scenarios pass as they are, and each fails under its mutant."""
    if request.config.getoption("--crash-point", default=None) is not None:
        pytest.skip("only crash points were asked for")
    [reference] = run_cases([Case("reference", records=True)], bench.site, 1)
    assert reference.facts is not None, reference.problem
    pairs = [cases_of(guard, reference) for guard in GUARDS]
    outcomes = run_cases([case for pair in pairs for case in pair], bench.site, JOBS)
    paid: dict[str, list[str]] = {}
    for row in bench.requests():
        paid.setdefault(str(row["request_id"]), []).append(str(row["outcome"]))
    pairs_of_guard = zip(GUARDS, outcomes[::2], outcomes[1::2], strict=True)
    guarded, caught, survived = {}, [], []
    for guard, guarded_run, mutant_run in pairs_of_guard:
        name = guard.mutant.__name__
        if lines := wrong(guard, guarded_run, reference, paid):
            guarded[name] = lines
        lines = wrong(guard, mutant_run, reference, paid)
        (caught if any(guard.symptom in line for line in lines) else survived).append((name, lines))
    announce(f"{len(caught)} of {len(GUARDS)} mutants caught")
    assert guarded == {}, "these scenarios fail with the guard in place"
    assert survived == []

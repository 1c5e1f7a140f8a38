"""Runs cases in forked children: each process of a case dies by os._exit at its point, the last one finishes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from crash_driver import Driver, Finder, Span
from crash_facts import Facts, facts_of
from crash_world import Site, World

from neuraphage.runtime import turn_chain
from neuraphage.store.bindings import BINDINGS
from neuraphage.store.scripts import script
from neuraphage.testing import Call, CrashInjector, CrashPoint
from patience import PATIENCE_S

DIED, FAILED = 86, 87
CASE_LIMIT_S = PATIENCE_S


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        name: what `--crash-point` takes.
        points: where its processes die, one after the other; one more process then finishes the task.
        finders: who finds the orphan, for each process after the first.
        records: whether the last process writes down its calls.
        span: what the process after the first crash records, and where it may die; the first records all.
        run: carries the case out; run_case when not given.
    """

    name: str
    points: tuple[CrashPoint, ...] = ()
    finders: tuple[Finder, ...] = ()
    records: bool = False
    span: Span = Span.ALL
    run: Callable[[Case, Site], None] | None = None

    def has_stray(self) -> bool:
        """Whether a command runs that nobody waits for. It takes a process, so only those that meet it have it."""
        return not self.points or any(point.call.startswith("SpoolWatch.") for point in self.points)


@dataclass
class Outcome:
    """What came of a case: facts and calls, or why there are none."""

    case: Case
    facts: Facts | None = None
    calls: tuple[Call, ...] = ()
    problem: str = ""


def fork(work: Callable[[], object]) -> int:
    """Run `work` in a child, which exits with 0 when it returned and with FAILED when it raised."""
    pid = os.fork()
    if pid == 0:
        _exit_after(work)
    return pid


def wait_for_exit(pid: int) -> int:
    """The exit code of a child, once it has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _exit_after(work: Callable[[], object]) -> None:
    code = FAILED
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_case(case: Case, site: Site) -> None:
    """All processes of one case, then its facts into `facts.json`. The last one is this process: no fork, no pages."""
    site.prepare()
    for number, point in enumerate(case.points):
        code = wait_for_exit(fork(partial(_run_process, case, site, number, point)))
        if code != DIED:
            why = f"{point} was never reached" if code == 0 else f"process {number} ended with {code}, see its log"
            (site.folder / "problem").write_text(why, encoding="utf-8")
            return
    calls = _run_process(case, site, len(case.points), None)
    if case.records:
        (site.folder / "calls.json").write_text(json.dumps([asdict(call) for call in calls]), encoding="utf-8")
    save_facts(site)


def _run_process(case: Case, site: Site, number: int, point: CrashPoint | None) -> tuple[Call, ...]:
    """One process of a case: it dies at its point, or goes on to the end. Returns its calls."""
    finder = case.finders[number - 1] if number else Finder.SWEEP
    injector = CrashInjector(point, lambda: os._exit(DIED))
    world = World(site, injector)
    if number == 0:
        world.plant_old_task()
        world.plant_schedule()
        if case.has_stray():
            world.plant_stray_command()
    Driver(world, finder, case.span if number == 1 else Span.ALL).run()
    return injector.calls


def save_facts(site: Site) -> None:
    """Write down what is left, for outcome_of."""
    (site.folder / "facts.json").write_text(json.dumps(asdict(facts_of(site))), encoding="utf-8")


def outcome_of(case: Case, folder: Path) -> Outcome:
    """Read what a case left."""
    outcome = Outcome(case)
    facts, calls, problem = folder / "facts.json", folder / "calls.json", folder / "problem"
    if facts.exists():
        outcome.facts = Facts(**json.loads(facts.read_text(encoding="utf-8")))
    else:
        outcome.problem = problem.read_text(encoding="utf-8") if problem.exists() else "it did not end"
        outcome.problem += "\n" + (folder / "log").read_text(encoding="utf-8")[-4_000:]
    if calls.exists():
        outcome.calls = tuple(Call(**row) for row in json.loads(calls.read_text(encoding="utf-8")))
    return outcome


def load() -> None:
    """Load once what each process of each case would: it was a third of what a case took."""
    importlib.import_module("neuraphage.llm.streamed_call")
    for name in BINDINGS:
        script(name)


def run_cases(cases: Iterable[Case], site_of: Callable[[], Site], jobs: int) -> list[Outcome]:
    """Run cases, so many at once; in the order given."""
    load()
    waiting, running = deque(cases), {}
    done: dict[str, Outcome] = {}
    order = [case.name for case in waiting]
    while waiting or running:
        while waiting and len(running) < jobs:
            case, site = waiting.popleft(), site_of()
            running[_start(case, site)] = (case, site, time.monotonic() + CASE_LIMIT_S)
        for pid, (case, site, deadline_s) in list(running.items()):
            if time.monotonic() > deadline_s:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            elif os.waitpid(pid, os.WNOHANG)[0] == 0:
                continue
            del running[pid]
            done[case.name] = outcome_of(case, site.folder)
        time.sleep(0.005)
    return [done[name] for name in order]


def _start(case: Case, site: Site) -> int:
    site.folder.mkdir(parents=True)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        log = os.open(site.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        # no slowness of the machine ends a chain of turns, which would be another run than the recorded one
        turn_chain.LONGEST_S = float("inf")
        _exit_after(lambda: (case.run or run_case)(case, site))
    return pid

"""Calls that people are asked about, under everything that can happen between question, answer and call, in any order.

Rules of settings, of a person and of a project are no part of the stored protocol: they are facts of the snapshot that
a turn decides from, as files are. So they are a value here, which may change between any two turns; what is stored of
them is the seal of an approval, by which one that was given under other rules is void. What a task remembers of answers
is stored, and nothing revokes it: `neuraphage rules remove` is about a person's own rules.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import fakeredis
from approvals_world import TIMEOUT_S, TOOLS, World
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from neuraphage.model.task import TERMINAL, Status
from neuraphage.testing.crash import Side

PLANS = st.lists(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2), min_size=6, max_size=10)
OF_DOCS = "allow read_file: docs/**"
RULES = st.sampled_from([(), (), (OF_DOCS,), (OF_DOCS,), ("ask alpha",), ("deny beta",), ("ask read_file: docs/**",)])
"""The rules in force; those of docs forbid and allow nothing that this task does, and only some of them count."""
WORDS = ("yes", "yes", "yes", "yes", "always", "no", "never")
WORD, WORD_OR_SILENCE = st.sampled_from(WORDS), st.sampled_from([*WORDS, None])
POINT = st.none() | st.none() | st.tuples(st.integers(1, 9), st.sampled_from(Side))
PICK = st.integers(0, 9)
DAY_S = 86_400


class Approvals(RuleBasedStateMachine):
    """One task. Oracle: approvals_oracle.py."""

    world: World

    def new_client(self) -> Any:
        """The server under test, empty."""
        return fakeredis.FakeRedis(server=fakeredis.FakeServer())

    @initialize(plan=PLANS)
    def begin(self, plan: list[list[str]]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name), self.new_client(), plan)
        self.world.work(None)

    def open(self) -> list[str]:
        return [prompt for prompt, asking in self.world.judge.asked.items() if asking.is_open]

    # --- workers ---

    @rule(point=POINT)
    def a_worker_goes_on(self, point: tuple[int, Side] | None) -> None:
        self.world.recover()
        self.world.work(point)

    @rule(point=POINT)
    def a_worker_goes_on_again(self, point: tuple[int, Side] | None) -> None:
        self.world.work(point)

    @rule(refuses=st.booleans())
    def the_provider_refuses_its_key(self, refuses: bool) -> None:
        self.world.model.is_away = refuses

    @rule(rules=RULES)
    def rules_change(self, rules: tuple[str, ...]) -> None:
        self.world.rules_change(rules)

    # --- people ---

    @precondition(lambda self: self.open())
    @rule(number=PICK, word=WORD)
    def a_person_answers(self, number: int, word: str) -> None:
        self.world.answer(self.open()[number % len(self.open())], word)

    @precondition(lambda self: self.open())
    @rule(number=PICK, word=WORD)
    def a_person_answers_and_a_worker_goes_on(self, number: int, word: str) -> None:
        self.world.answer(self.open()[number % len(self.open())], word)
        self.world.work(None)

    @rule(steps=st.lists(st.tuples(WORD_OR_SILENCE, st.none() | RULES), min_size=2, max_size=5))
    def people_answer_or_do_not_under_changing_rules(
        self, steps: list[tuple[str | None, tuple[str, ...] | None]]
    ) -> None:
        for word, rules in steps:
            self._begin_again()
            if word is None:
                self.world.time_passes(TIMEOUT_S + 1)
            elif self.open():
                self.world.answer(self.open()[0], word)
            if rules is not None:
                self.world.rules_change(rules)
            self.world.work(None)
            self.world.check()

    def _begin_again(self) -> None:
        """What has the task at rest is over: a death, a failure, a pause."""
        world = self.world
        world.recover()
        status = world.kit.status(world.task_id)
        if status is Status.FAILED:
            world.model.is_away = False
            world.say("retry")
        elif status is Status.PAUSED:
            world.say("resume")

    @precondition(lambda self: self.world.judge.asked)
    @rule(number=PICK, word=WORD)
    def a_person_answers_late_or_not(self, number: int, word: str) -> None:
        asked = [*self.world.judge.asked]
        self.world.answer(asked[-1 - number % len(asked)], word)

    @rule(what=st.sampled_from(["pause", "resume", "retry", "reset"]))
    def a_person_says(self, what: str) -> None:
        self.world.say(what)

    @rule(dice=PICK)
    def a_person_cancels(self, dice: int) -> None:
        if dice == 0 and len(self.world.judge.asked) > len(TOOLS):
            self.world.say("cancel")

    # --- the clock, and the sweep ---

    @rule(by_s=st.sampled_from([TIMEOUT_S // 2, TIMEOUT_S + 1, 3 * DAY_S]))
    def the_clock_goes_on(self, by_s: int) -> None:
        self.world.time_passes(by_s)

    @invariant()
    def rules_hold(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            try:
                if sys.exc_info()[0] is None:
                    self._drain()
            finally:
                self.folder.cleanup()

    def _drain(self) -> None:
        """Once nothing fails any more, and people answer, the task comes to its end."""
        world = self.world
        world.model.is_away = False
        for _ in range(40):
            status = world.kit.status(world.task_id)
            if status in TERMINAL:
                return
            world.recover()
            if status is Status.PAUSED:
                world.say("resume")
            for prompt in self.open():
                world.answer(prompt, "yes")
            world.work(None)
            world.check()
        raise AssertionError(f"stuck: {world.rig.get(world.task_id)}")

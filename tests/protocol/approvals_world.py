"""Whole turns of one task that asks about its calls: worker processes that may die, people, rules, and the sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from approvals_oracle import Judge
from deadline_world import pass_time

from neuraphage.decide.fate import fate_of
from neuraphage.errors import FaultKind, IllegalMove, ModelFault, PromptNotOpen
from neuraphage.model.message import ModelReply
from neuraphage.model.task import TERMINAL, Status
from neuraphage.model.tool import ToolResult
from neuraphage.ports import ToolContext
from neuraphage.settings import Settings
from neuraphage.store import invariant, queries
from neuraphage.testing import CrashInjector
from neuraphage.testing.crash import ANY_CALL, CrashPoint, Side
from turnkit import FakeModel, FakeTool, Killed, calls, killed, new_rig, recorded, says

TOOLS = ("alpha", "beta", "gamma", "delta")
TIMEOUT_S = 300
Plan = Sequence[Sequence[str]]


class Planned(FakeModel):
    """A model that makes the calls of a plan, turn by turn, by what the conversation has; `is_away`: it is refused."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan, self.is_away = plan, False

    def call(self, request: Any, on_delta: Any, interrupt: Any) -> ModelReply:
        self.steps = [*[says()] * len(self.requests), self.reply(request)]
        return super().call(request, on_delta, interrupt)

    def reply(self, request: Any) -> Any:
        if self.is_away:
            return ModelFault(FaultKind.AUTHENTICATION, "no key")
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if turn >= len(self.plan):
            return says("Done.")
        wanted = [(f"t{turn}-{at}", tool) for at, tool in enumerate(self.plan[turn])]
        return calls(*((call, tool, {"call": call}) for call, tool in wanted))


@dataclass
class World:
    """One task, the process that works at it, and what is known of its approvals."""

    folder: Path
    client: Any
    plan: Plan
    judge: Judge = field(default_factory=Judge)
    events: int = 0
    """How many of the history were looked at."""
    judged: set[str] = field(default_factory=set)
    """Calls whose results were looked at."""

    def __post_init__(self) -> None:
        tools = [FakeTool(name=name, side_effecting=True, act=self._acting(name)) for name in TOOLS]
        settings = Settings(namespace="approvals", data_dir=self.folder / ".data", max_recoveries=2)
        self.model = Planned(self.plan)
        self.rig = new_rig(self.folder, self.model, client=self.client, settings=settings, extra=tools)
        self.task_id = self.rig.submit(allow=(), permission_timeout_s=TIMEOUT_S)

    def _acting(self, tool: str) -> Any:
        def act(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
            self.judge.runs(params["call"], tool)
            return ToolResult(text="acted")

        return act

    # --- workers ---

    def work(self, point: tuple[int, Side] | None) -> None:
        """A process handles the next message, and may die at one of its writes or calls of the model."""
        record = self.rig.get(self.task_id)
        if record.place != "outbox":
            return
        crash = None if point is None else CrashPoint(ANY_CALL, *point)
        rig = recorded(self.rig.reborn(), CrashInjector(crash, killed))
        rig.dispatcher.messages[:] = [(self.task_id, record.seq)]
        with suppress(Killed):
            rig.step()
        self.see(by_worker=True)

    def recover(self) -> None:
        """The watcher takes the task from a dead process."""
        if self.rig.get(self.task_id).place == "leases":
            self.rig.recover(self.task_id)
            self.see()

    def rules_change(self, rules: Sequence[str]) -> None:
        """The next turns run under other rules."""
        settings = Settings(**{**dict(self.rig.settings), "rules": tuple(rules)})
        self.rig = dataclasses.replace(self.rig, settings=settings).reborn()
        self.judge.rules = frozenset(rules)

    # --- people, the clock ---

    @property
    def kit(self) -> Any:
        return self.rig.kit

    def is_over(self) -> bool:
        return self.kit.status(self.task_id) in TERMINAL

    def answer(self, prompt: str, word: str) -> None:
        """A person answers a prompt, open or not: the first answer wins, and the next ones are told whose it was."""
        asking = self.judge.asked[prompt]
        try:
            self.rig.people.answer(self.task_id, prompt, word)
        except (PromptNotOpen, IllegalMove):
            is_taken = False
            fate = fate_of(queries.events(self.rig.store.context, self.task_id), prompt)
        else:
            is_taken, fate = True, None
        assert is_taken is asking.is_open, "a second answer was taken, or a first one refused"
        if is_taken:
            self.judge.answers(prompt, word, "user")
        else:
            assert (fate and fate.by) == asking.by, "told of another answer"

    def say(self, what: str) -> None:
        """A person pauses, resumes, cancels, retries or resets."""
        try:
            getattr(self.rig.people, what)(self.task_id)
        except IllegalMove:
            return
        if what == "reset":
            self.judge.begins_anew()
            self.judged = set()
        self.see()

    def time_passes(self, by_s: int) -> None:
        """The server's clock goes on, and the sweep comes by: prompts whose time is over count as answered."""
        if self.is_over():
            return
        pass_time(self.kit, self.task_id, by_s * 1000)
        for asking in self.judge.asked.values():
            asking.due_ms -= by_s * 1000
        now_ms = self.rig.store.now_ms()
        due = [prompt for prompt, asking in self.judge.asked.items() if asking.is_open and asking.due_ms <= now_ms]
        self.rig.sweep.run(guarded=False)
        if not self.is_over():  # else it had died too often: that is seen first
            for prompt in due:
                self.judge.answers(prompt, "no", "timeout")
        self.see()

    # --- what holds ---

    def see(self, *, by_worker: bool = False) -> None:
        """Take notice of what was asked, and of what became of answers."""
        history = queries.events(self.rig.store.context, self.task_id)
        for event in history[self.events :]:
            if event.kind == "PermissionRequest":
                data = event.data
                self.judge.asks(data["prompt"], data["id"], data["tool"], data["deadline_ms"])
        self.events = len(history)
        record = self.rig.get(self.task_id)
        prompts = {prompt.prompt_id for prompt in record.prompts}
        self.judge.takes(prompts, dict(record.grants), by_worker=by_worker, is_over=record.status in TERMINAL)

    def check(self) -> None:
        """After every step."""
        judge, record = self.judge, self.rig.get(self.task_id)
        assert judge.faults == [], judge.faults
        assert invariant.violations(self.rig.store.context) == []
        assert self.kit.leftovers() == []
        assert (record.place is None) == (record.status in TERMINAL), "no place"
        rows = self.client.zrange(self.kit.keys.deadlines, 0, -1, withscores=True)
        index = {member.decode().partition("|")[2]: due_ms for member, due_ms in rows}
        expected = {prompt: asking.due_ms for prompt, asking in judge.asked.items() if asking.is_open}
        assert index == expected, "the deadlines are not those of open prompts"
        waits = record.status is Status.WAITING_FOR_USER
        assert not waits or not self.kit.inbox(self.task_id), "waits, although an answer is there"
        history = queries.events(self.rig.store.context, self.task_id)
        told = [event for event in history if event.kind == "AnswerReceived"]
        said = sorted((event.data["prompt"], event.data["by"]) for event in told)
        assert said == sorted((prompt, a.by) for prompt, a in judge.asked.items() if a.by is not None)
        tools = {f"t{turn}-{at}": tool for turn, row in enumerate(self.plan) for at, tool in enumerate(row)}
        for call, result in self.rig.results(self.task_id).items():
            if call not in self.judged:
                self.judged.add(call)
                wrong = judge.result(call, tools[call], str(result["content"]))
                assert wrong is None, wrong

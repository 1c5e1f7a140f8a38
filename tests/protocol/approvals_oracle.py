"""What may come of the calls of a task, by what was asked and answered under which rules.

It knows nothing of seals, digests or stored permissions: only what people were asked and said, the rules in force at
each step, and what the task has then done.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ALLOWING = frozenset({"yes", "always"})
REMEMBERED = {"always": "granted", "never": "denied"}


@dataclass
class Asking:
    """One prompt.

    Args:
        call, tool: what it asks about.
        rules: those that forbid or ask, as of the step that opened it.
        due_ms: its deadline, by the server's clock as it is now.
        answer, by: the first answer; None where there is none.
        is_taken: a turn has taken the answer.
        is_gone: it went with an end of the task, so that no answer to it counts.
    """

    call: str
    tool: str
    rules: frozenset[str]
    due_ms: int
    answer: str | None = None
    by: str | None = None
    is_taken: bool = False
    is_gone: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the first answer is still to come."""
        return self.by is None and not self.is_gone


@dataclass
class Judge:
    """What is known of one task's approvals.

    Args:
        rules: in force now.
        asked: prompt -> what became of it, in the order of asking.
        grants: tool -> what was remembered for the task; nothing takes it back but another such answer.
        answered: prompts in the order of their answers.
        faults: what was wrong so far.
        ran: calls that ran, in this life of the conversation.
    """

    rules: frozenset[str] = frozenset()
    asked: dict[str, Asking] = field(default_factory=dict)
    grants: dict[str, str] = field(default_factory=dict)
    answered: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    def strict(self) -> frozenset[str]:
        """The rules that a yes is bound to: none of those that allow is a reason to ask anew."""
        return frozenset(rule for rule in self.rules if not rule.startswith("allow"))

    def said(self, tool: str) -> str | None:
        """What was said of a tool for the task, by answers that a turn has taken or is about to take."""
        found = self.grants.get(tool)
        for asking in (self.asked[prompt] for prompt in self.answered):
            if asking.tool == tool and not asking.is_taken and not asking.is_gone:
                found = REMEMBERED.get(asking.answer or "", found)
        return found

    def last(self, call: str) -> Asking | None:
        """What was asked last about a call, in this life of the task."""
        mine = [asking for asking in self.asked.values() if asking.call == call and not asking.is_gone]
        return mine[-1] if mine else None

    def runs(self, call: str, tool: str) -> None:
        """A call runs now."""
        self.ran.append(call)
        last = self.last(call)
        is_allowed = last is not None and last.answer in ALLOWING and last.rules == self.strict()
        is_remembered = self.said(tool) == "granted" and f"ask {tool}" not in self.rules
        if f"deny {tool}" in self.rules:
            self.faults.append(f"{call} ran, and a rule denies {tool}")
        elif not is_allowed and not is_remembered:
            self.faults.append(f"{call} ran, and nobody has allowed it under {self.strict()}: {last}")

    def asks(self, prompt: str, call: str, tool: str, due_ms: int) -> None:
        """A person is asked about a call."""
        last, said = self.last(call), self.said(tool)
        if prompt in self.asked:
            self.faults.append(f"{prompt} was asked twice")
        if f"deny {tool}" in self.rules:
            self.faults.append(f"{call} is asked about, and a rule denies {tool}")
        if said == "denied" or (said == "granted" and f"ask {tool}" not in self.rules):
            self.faults.append(f"{call} is asked about, and {tool} is {said} for the task")
        if last is not None and not (last.answer in ALLOWING and last.rules != self.strict()):
            self.faults.append(f"{call} is asked about again: {last}, now under {self.strict()}")
        self.asked[prompt] = Asking(call, tool, self.strict(), due_ms)

    def answers(self, prompt: str, answer: str, by: str) -> None:
        """The first answer to a prompt was taken."""
        asking = self.asked[prompt]
        asking.answer, asking.by = answer, by
        self.answered.append(prompt)

    def takes(self, open_prompts: set[str], remembered: dict[str, str], *, by_worker: bool, is_over: bool) -> None:
        """What a step has left behind is held against what was said.

        Args:
            open_prompts: those of the record.
            remembered: for the task, as the record has it.
            by_worker: a turn has gone as far as to take answers.
            is_over: the task has failed or was ended.
        """
        for prompt in self.answered:
            asking = self.asked[prompt]
            if not asking.is_taken and not asking.is_gone and prompt not in open_prompts and (by_worker or not is_over):
                asking.is_taken = True
                self.grants |= {asking.tool: REMEMBERED[asking.answer]} if asking.answer in REMEMBERED else {}
        if is_over:
            for asking in self.asked.values():
                asking.is_gone |= not asking.is_taken
        expected = {prompt for prompt, asking in self.asked.items() if not asking.is_taken and not asking.is_gone}
        if open_prompts != expected:
            self.faults.append(f"open are {sorted(open_prompts)}, asked were {sorted(expected)}")
        if remembered != self.grants:
            self.faults.append(f"remembered is {remembered}, said was {self.grants}")

    def begins_anew(self) -> None:
        """The conversation was archived: what was said about its calls is over, what was said for the task is not."""
        self.ran = []
        for asking in self.asked.values():
            asking.is_gone = True

    def result(self, call: str, tool: str, text: str) -> str | None:
        """What is wrong with the result of a call, if anything is."""
        mine = [asking for asking in self.asked.values() if asking.call == call]
        last = mine[-1] if mine else None
        if call in self.ran:
            return None if text == "acted" else f"{call} ran, and its result is {text!r}"
        if "The rule" in text:
            return None if f"deny {tool}" in self.rules else f"{call} is said to be denied by a rule: {text!r}"
        if "may never run" in text:
            return None if self.grants.get(tool) == "denied" else f"{call}: nobody has said never: {text!r}"
        expected = None if last is None else {"timeout": "Nobody answered"}.get(last.by or "", "A person did not allow")
        if last is None or last.answer in (*ALLOWING, None) or expected not in text:
            return f"{call} did not run ({last}): {text!r}"
        return None

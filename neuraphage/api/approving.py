"""Answers by a program: a function that is asked about each open prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from neuraphage.api.inbox import InboxReads
from neuraphage.api.people import People
from neuraphage.api.steps import Pause, Read, Steps, blocking, patiently
from neuraphage.errors import BadInput, IllegalMove, PromptNotOpen, TaskNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuraphage.decide.inbox import Asked
    from neuraphage.model.prompt import Prompt
    from neuraphage.model.shown import OpenPrompt
    from neuraphage.model.task import TaskRecord

APPROVE_POLL_S = 1.0
"""Between two looks at the inbox, when no other time is given."""
LEAST_POLL_S = 0.05
REMEMBERED_PROMPTS = 10_000
"""Prompts that a loop knows to have asked about; the oldest are forgotten, and asked about again if still open."""


class ApprovalSteps(People, InboxReads):
    """Loops as steps, for whoever waits in a way of its own."""

    def loop(
        self, tasks: Iterable[str], poll_s: float, timeout_s: float | None, most: int | None, stop: Callable[[], bool]
    ) -> ApprovalLoop:
        """A loop; see `Approving.approve`."""
        bounds = LoopBounds(frozenset(tasks), poll_s, timeout_s, most, stop)
        return ApprovalLoop(lambda: self._asked()[1], self._open_prompt, self.answer, bounds)

    def _open_prompt(self, record: TaskRecord, prompt: Prompt) -> OpenPrompt | None:
        from neuraphage.model.shown import OpenPrompt  # noqa: PLC0415 - only who asks for prompts needs it

        texts = self._texts(record, [prompt])
        return OpenPrompt(record, texts[0]) if texts else None


class Approving(People, InboxReads):
    """The loop, for a thread that waits; `AsyncClient` takes the same steps."""

    def approve(
        self,
        callback: Callable[[OpenPrompt], str | None],
        *,
        tasks: Iterable[str] = (),
        poll_s: float = APPROVE_POLL_S,
        timeout_s: float | None = None,
        most: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Call a function for each prompt that is open or opens, once, and send what it answers.

        Each look reads the records of up to INBOX_TASKS tasks that wait, and as many that are paused.

        Who answers elsewhere first wins; the function's answer is dropped then. What it raises ends the loop and is
        raised here; the prompt stays open.

        Args:
            callback: gets the prompt with all of what a person would be shown, and returns the answer (`yes`, `no`,
                an option, a text), or None to leave it to others.
            tasks: only prompts of these tasks, by whole ids; of all when none is named.
            poll_s: seconds between two looks at the inbox.
            timeout_s: end after so many seconds; None for never.
            most: end after so many answers; None for no limit.
            stop: asked at every look; true ends the loop.

        Returns:
            How many answers were sent.

        Raises:
            BadInput: the function's answer is none of the prompt's options, or an argument makes no sense.
            StoreUnavailable: the server was away for longer than OUTAGE_PATIENCE_S.
        """
        loop = ApprovalSteps(self._ports).loop(tasks, poll_s, timeout_s, most, stop)
        for entry in blocking(loop.steps()):
            answer = callback(entry)
            if answer is not None:
                loop.count += loop.send(entry, answer)
        return loop.count


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """Where a loop ends, as `Approving.approve` is given it.

    Raises:
        BadInput: it makes no sense.
    """

    tasks: frozenset[str]
    poll_s: float
    timeout_s: float | None
    most: int | None
    stop: Callable[[], bool]

    def __post_init__(self) -> None:
        is_sound = self.poll_s >= LEAST_POLL_S and (self.timeout_s is None or self.timeout_s >= 0)
        if not is_sound or (self.most is not None and self.most < 1):
            raise BadInput(
                f"poll_s is at least {LEAST_POLL_S:g}, timeout_s at least 0 and most at least 1; given were "
                f"{self.poll_s!r}, {self.timeout_s!r} and {self.most!r}"
            )


class ApprovalLoop:
    """Open prompts, each once, as steps; see `Approving.approve`.

    Args:
        look: reads what is open, the most urgent first.
        show: one prompt as a person would see it; None where its task is gone.
        answer: sends an answer.
        bounds: where it ends.
    """

    def __init__(
        self,
        look: Callable[[], Sequence[Asked]],
        show: Callable[[TaskRecord, Prompt], OpenPrompt | None],
        answer: Callable[..., object],
        bounds: LoopBounds,
    ) -> None:
        self._look = look
        self._show = show
        self._answer = answer
        self._bounds = bounds
        self._deadline_s = None if bounds.timeout_s is None else time.monotonic() + bounds.timeout_s
        self._known: dict[tuple[str, str], None] = {}
        self.count = 0
        """Answers that were sent."""

    def steps(self) -> Steps[OpenPrompt]:
        """Each open prompt once, until the loop is over."""
        while not self._is_over():
            found: Sequence[Asked] = yield from patiently(Read(self._look))
            for record, prompt in found:
                if self._is_over():
                    return
                if self._is_new(record.task_id, prompt.prompt_id):
                    entry: OpenPrompt | None = yield from patiently(Read(partial(self._show, record, prompt)))
                    if entry is not None:
                        yield entry
            if not self._is_over():
                yield Pause(self._pause_s())

    def _pause_s(self) -> float:
        if self._deadline_s is None:
            return self._bounds.poll_s
        return max(0.0, min(self._bounds.poll_s, self._deadline_s - time.monotonic()))

    def send(self, entry: OpenPrompt, answer: str) -> bool:
        """Send an answer; returns whether nobody else was first.

        Raises:
            BadInput: it is no answer to this prompt.
        """
        try:
            self._answer(entry.task_id, answer, prompt_id=entry.prompt.prompt_id)
        except (PromptNotOpen, IllegalMove, TaskNotFound):
            return False
        return True

    def _is_over(self) -> bool:
        bounds = self._bounds
        if bounds.stop() or (bounds.most is not None and self.count >= bounds.most):
            return True
        return self._deadline_s is not None and time.monotonic() >= self._deadline_s

    def _is_new(self, task_id: str, prompt_id: str) -> bool:
        if (task_id, prompt_id) in self._known or (self._bounds.tasks and task_id not in self._bounds.tasks):
            return False
        self._known[task_id, prompt_id] = None
        if len(self._known) > REMEMBERED_PROMPTS:
            self._known.pop(next(iter(self._known)))
        return True

"""Sends what a person answers in place, and says who was first where they came too late."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from neuraphage.api import Api
from neuraphage.cli.changed_files import tell_changed
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.answers import allows
from neuraphage.errors import BadInput, IllegalMove, NeuraphageError, PromptNotOpen
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

SHOW_ALL = "v"
ALL_WORDS = {"all": "yes", "none": "no"}
"""Words that answer several permissions."""
UNSEEN_WORD = "unseen"
"""Behind a yes: the person says that they have not looked at all of it."""
NOT_SEEN = (
    f"not all of it was shown: type v to see the rest first; n denies it unseen, `yes {UNSEEN_WORD}` allows what you "
    "have not looked at"
)


class Sender:
    """Sends answers.

    Args:
        api: takes them.
        viewer: says what came of one.
    """

    def __init__(self, api: Api, viewer: Viewer) -> None:
        self._api = api
        self._viewer = viewer

    def send(self, record: TaskRecord, prompt: Prompt, answer: str) -> bool:
        """Answer a prompt; returns whether nobody else was first, and says who was.

        Raises:
            BadInput: it is no answer to this prompt.
        """
        try:
            self._api.answer(record.task_id, answer, prompt_id=prompt.prompt_id)
        except (PromptNotOpen, IllegalMove):
            self.tell_overtaken(record, prompt)
            return False
        return True

    def tell_overtaken(self, record: TaskRecord, prompt: Prompt) -> None:
        """Say that a prompt is open no more, and what became of it."""
        fate = None
        with contextlib.suppress(NeuraphageError):  # it is said without a name then
            fate = self._api.became_of(record.task_id, prompt.prompt_id)
        self._viewer.line(f"  it was answered elsewhere{f': {fate}' if fate else ''}", "yellow")

    def tell_changed(self, record: TaskRecord, prompts: Sequence[Prompt], answer: str) -> None:
        """Say where a yes would write nothing, since the file is another one by now."""
        if any(allows(prompt, answer) for prompt in prompts):
            tell_changed(self._api, record, prompts, lambda text: self._viewer.line(f"  {text}", "yellow"))


def refuse_unseen(prompts: Sequence[Prompt], answer: str, seen: Collection[str]) -> None:
    """Nothing runs of which the person was not shown the last line.

    Args:
        prompts: that are to be answered.
        answer: to all of them.
        seen: ids of prompts that were shown in full.

    Raises:
        BadInput: one was not.
    """
    for prompt in prompts:
        if allows(prompt, answer) and prompt.prompt_id not in seen:
            raise BadInput(NOT_SEEN)


def without_unseen(word: str) -> tuple[str, bool]:
    """What was typed without the word for not having looked, and whether it was there."""
    first, _, last = word.rpartition(" ")
    return (first.strip(), True) if last == UNSEEN_WORD and first else (word, False)

"""Asks a person in place, while the task is still followed: it may be answered elsewhere, or end, meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from neuraphage.api import Api
from neuraphage.cli.attention import Attention
from neuraphage.cli.client_words import WORDS, ClientWords
from neuraphage.cli.line_reader import Left, LineReader
from neuraphage.cli.pager import Pager
from neuraphage.cli.prompts import END_WORD, PERMISSION_DEFAULT, leaves, meant_here, show_prompt
from neuraphage.cli.sending import ALL_WORDS, SHOW_ALL, Sender, refuse_unseen, without_unseen
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.asking import asks_line
from neuraphage.decide.seen_text import spelled
from neuraphage.errors import BadInput, NeuraphageError
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.shown import ShownPrompt
from neuraphage.model.task import TaskRecord

ASKED_CHARS = 100
"""Of what is asked, where it stands above in full."""


class Asker:
    """Asks the open prompts of a task, one after the other.

    Args:
        api: sends the answers.
        viewer: writes.
        reader: reads what the person types.
        answered: told of each call (by tool_use id, if it is one) whose question was answered here.
    """

    def __init__(
        self,
        api: Api,
        viewer: Viewer,
        reader: LineReader,
        answered: Callable[[str | None], None],
    ) -> None:
        self._api = api
        self._viewer = viewer
        self._reader = reader
        self._attention = Attention(viewer.console, is_wanted=api.settings.prompt_signal)
        self._sender = Sender(api, viewer)
        self._words = ClientWords(api, viewer)
        self._tell_answered = answered
        self._listed: dict[str, bool] = {}  # prompts that the person was shown, and whether in full
        self._answered: set[str] = set()
        self._asked: Prompt | None = None  # whose question was put
        self._left = False

    def attend(self, record: TaskRecord) -> bool:
        """Ask what is open and take the answer. Call it again and again while the task waits.

        Returns:
            False when the person does not want to answer.
        """
        still_open = [prompt for prompt in record.prompts if prompt.prompt_id not in self._answered]
        if self._asked is not None and self._asked not in still_open:
            self._sender.tell_overtaken(record, self._asked)
            self._asked = None
        if not still_open or self._left:
            self._attention.rests()
            return True
        fresh = [prompt for prompt in still_open if prompt.prompt_id not in self._listed]
        if fresh:
            self._list(record, still_open)
            self._tell_words(still_open)
        prompt = still_open[0]
        self._viewer.end_text()
        self._attention.waits(record.short_id, self._listed)
        self._asked = prompt
        typed = self._reader.read(_question(prompt, still_open), lambda: self._is_overtaken(record))
        if isinstance(typed, Left):
            return self._goes_on(typed)
        if leaves(prompt, typed):
            return False
        if prompt.kind is PromptKind.CONVERSATION and self._words.take(record, typed):
            self._asked = None  # what closed it, if it is closed, was said here
            return True
        self._asked = None
        return self._take(record, still_open, typed)

    def _goes_on(self, left: Left) -> bool:
        """What comes of a question without an answer."""
        if left is Left.INTERRUPTED:
            self._left = True  # whoever counts Ctrl-C decides what it means
            signal.raise_signal(signal.SIGINT)
        return left is not Left.NO_ANSWER

    def close(self) -> None:
        """Ask nobody any more, and drop what is left of the input."""
        self._attention.rests()
        self._reader.discard()

    def _is_overtaken(self, record: TaskRecord) -> bool:
        try:
            now = self._api.get(record.task_id)
        except NeuraphageError:  # whoever follows the task sees it too, and sits it out
            return False
        return (now.prompts, now.status, now.pause_requested) != (record.prompts, record.status, record.pause_requested)

    # --- what is asked ---

    def _list(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        for heading, shown in self._headed(record, prompts):
            self._listed[shown.prompt.prompt_id] = show_prompt(self._viewer, shown, heading=heading)

    def _page(self, record: TaskRecord, prompts: Sequence[Prompt]) -> bool:
        """Show all of these, a page at a time.

        Returns:
            False when the person does not want to answer any more.
        """
        pager = Pager(self._viewer, self._reader, lambda: self._is_overtaken(record))
        for heading, shown in self._headed(record, prompts):
            seen = pager.show(shown, heading)
            if isinstance(seen, Left):
                return self._goes_on(seen)
            self._listed[shown.prompt.prompt_id] = seen or self._listed.get(shown.prompt.prompt_id, False)
        self._tell_words(prompts)
        return True

    def _headed(self, record: TaskRecord, prompts: Sequence[Prompt]) -> list[tuple[str, ShownPrompt]]:
        count, wanted = len(prompts), {prompt.prompt_id for prompt in prompts}
        found = [one for one in self._api.shown_prompts(record) if one.prompt.prompt_id in wanted]
        return [(f"{number} of {count}: " if count > 1 else "", one) for number, one in enumerate(found, start=1)]

    def _tell_words(self, prompts: Sequence[Prompt]) -> None:
        permissions = [prompt for prompt in prompts if prompt.kind is PromptKind.PERMISSION]
        if permissions:
            self._viewer.line("  y = yes, n = no, v = show all of it", "dim")
            self._viewer.line(f"  always, never: for every {_tools(permissions)} call of this task", "dim")
            self._viewer.line("  always: PATTERN for such calls, no: WORDS with words to the model", "dim")
        if len(permissions) > 1:
            self._viewer.line(f"  all = yes to these {len(permissions)}, none = no to these {len(permissions)}", "dim")
        if any(prompt.kind is PromptKind.CONVERSATION for prompt in prompts):
            self._viewer.line(f"  {END_WORD} or Ctrl-D leaves the conversation, which waits for you", "dim")
            self._viewer.line(f"  {', '.join(WORDS)} are for this program; all else is a message", "dim")
        if any(not prompt.options for prompt in prompts):
            self._viewer.line("  Alt-Enter: a new line; Ctrl-X Ctrl-E: your editor", "dim")

    # --- what was answered ---

    def _take(self, record: TaskRecord, still_open: Sequence[Prompt], typed: str) -> bool:
        """Act on what was typed; False when the person does not want to answer any more."""
        prompt, word = still_open[0], typed.strip().lower()
        permissions = [one for one in still_open if one.kind is PromptKind.PERMISSION]
        targets, answer, unseen = [prompt], typed, False
        if prompt.kind is PromptKind.PERMISSION:
            if word == SHOW_ALL:
                return self._page(
                    record, [one for one in still_open if not self._listed.get(one.prompt_id)] or [prompt]
                )
            word, unseen = without_unseen(word)
            answer = word if unseen else answer
            if word in ALL_WORDS and len(permissions) > 1:
                targets, answer = permissions, ALL_WORDS[word]
        try:
            answer = meant_here(prompt, answer)
            if not unseen:
                refuse_unseen(targets, answer, {name for name, whole in self._listed.items() if whole})
            self._sender.tell_changed(record, targets, answer)
            for target in targets:
                self._send(record, target, answer)
        except BadInput as error:
            self._viewer.line(f"  {error}", "yellow")
        return True

    def _send(self, record: TaskRecord, prompt: Prompt, answer: str) -> None:
        if self._sender.send(record, prompt, answer):
            self._tell_answered(prompt.tool_use_id)
        self._answered.add(prompt.prompt_id)


def _tools(permissions: Sequence[Prompt]) -> str:
    return " or ".join(dict.fromkeys(str(prompt.tool) for prompt in permissions))


def _question(prompt: Prompt, still_open: Sequence[Prompt]) -> str:
    """What stands before a person's answer; it names the answer that Enter alone gives, if it gives one."""
    if prompt.kind is PromptKind.CONVERSATION:
        return "  you: "
    which = f" to: {spelled(asks_line(prompt))[:ASKED_CHARS]}\n  answer" if len(still_open) > 1 else ""
    default = f" [{PERMISSION_DEFAULT}]" if prompt.kind is PromptKind.PERMISSION else ""
    return f"  answer{which}{default}: "

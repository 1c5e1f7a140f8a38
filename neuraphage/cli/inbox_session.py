"""The inbox on a terminal: every open prompt of every task, one after the other, answered in place."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from neuraphage.api import Api
from neuraphage.cli.attention import Attention
from neuraphage.cli.client_words import MOVES, ClientWords
from neuraphage.cli.exit_codes import INTERRUPTED_EXIT
from neuraphage.cli.inbox_command import heading
from neuraphage.cli.line_reader import Left, LineReader
from neuraphage.cli.pager import Pager
from neuraphage.cli.prompts import PERMISSION_DEFAULT, meant_here, show_prompt
from neuraphage.cli.sending import ALL_WORDS, SHOW_ALL, Sender, refuse_unseen, without_unseen
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.inbox import alike
from neuraphage.errors import BadInput, NeuraphageError, TaskNotFound
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.shown import OpenPrompt

SKIP, QUIT = frozenset({"s", "/skip"}), frozenset({"q", "/quit"})
"""The short words are keys only where no text of one's own is an answer."""


class InboxSession:
    """Asks what is open until nothing is left, or the person leaves.

    Args:
        api: reads, and sends answers.
        viewer: writes.
        reader: reads what the person types.
        limit: prompts that are read at a time.
    """

    def __init__(self, api: Api, viewer: Viewer, reader: LineReader, limit: int) -> None:
        self._api = api
        self._viewer = viewer
        self._reader = reader
        self._limit = limit
        self._attention = Attention(viewer.console, is_wanted=api.settings.prompt_signal)
        self._sender = Sender(api, viewer)
        self._words_of_ours = ClientWords(api, viewer)
        self._listed: list[OpenPrompt] = []
        self._done: set[tuple[str, str]] = set()  # answered here, by task and prompt
        self._skipped: set[tuple[str, str]] = set()
        self._seen: set[str] = set()  # prompts whose last line was on the screen

    def run(self) -> int:
        """Ask; returns the exit code."""
        try:
            while (left := self._round()) is None:
                pass
        finally:
            self._attention.rests()
            self._reader.discard()
        if left is Left.INTERRUPTED:
            return INTERRUPTED_EXIT
        if self._skipped:
            self._viewer.line(f"{len(self._skipped)} skipped; they wait on", "dim")
        return 0

    def _round(self) -> Left | None:
        """One question; returns why it was the last one, None when it was not."""
        still = self._still_open()
        if not still:
            asked = bool(self._done or self._skipped)
            self._viewer.line("nothing more is asked" if asked else "no task asks anything", "dim")
            return Left.NO_ANSWER
        entry, like = still[0], _alike(still[0], still)
        self._viewer.line(f"{heading(entry)} ({len(still)} open)", "bold")
        if show_prompt(self._viewer, entry.shown):
            self._seen.add(entry.prompt.prompt_id)
        self._tell_words(entry, like)
        self._attention.waits(entry.record.short_id, [entry.prompt.prompt_id])
        while True:
            typed = self._reader.read(_question(entry.prompt), lambda: self._is_overtaken(entry))
            if typed is Left.OVERTAKEN:
                self._done.add(_key(entry))
                self._sender.tell_overtaken(entry.record, entry.prompt)
                return None
            if isinstance(typed, Left):
                return typed
            word = typed.strip().lower()
            if word in self._words(entry.prompt, QUIT):
                return Left.NO_ANSWER
            if word in self._words(entry.prompt, SKIP):
                self._skipped.add(_key(entry))
                return None
            if entry.prompt.kind is PromptKind.CONVERSATION and self._words_of_ours.take(entry.record, typed):
                if typed.strip() not in MOVES and not self._is_overtaken(entry):
                    continue
                self._done.add(_key(entry))
                return None
            try:
                if self._take(entry, like, typed):
                    return None
            except BadInput as error:
                self._viewer.line(f"  {error}; s skips it, q leaves", "yellow")

    def _still_open(self) -> list[OpenPrompt]:
        """What is open and was neither answered nor skipped here.

        A task that goes on with one answer waits again for the others in a moment: these stay on the list meanwhile.
        """
        found = self._api.inbox(limit=self._limit).prompts
        listed = {_key(one) for one in found}
        kept = [one for one in self._listed if _key(one) not in listed and self._is_open(one)]
        self._listed = [one for one in (*kept, *found) if _key(one) not in self._done | self._skipped]
        return self._listed

    def _is_open(self, entry: OpenPrompt) -> bool:
        if _key(entry) in self._done | self._skipped:
            return False
        try:
            return entry.prompt in self._api.get(entry.task_id).prompts
        except TaskNotFound:
            return False

    @staticmethod
    def _words(prompt: Prompt, words: frozenset[str]) -> frozenset[str]:
        takes_text = not prompt.options or any(option.strip().lower() in words for option in prompt.options)
        return frozenset(word for word in words if word.startswith("/")) if takes_text else words

    def _is_overtaken(self, entry: OpenPrompt) -> bool:
        with contextlib.suppress(NeuraphageError):  # a server that is away is no answer
            return entry.prompt not in self._api.get(entry.task_id).prompts
        return False

    def _tell_words(self, entry: OpenPrompt, like: Sequence[OpenPrompt]) -> None:
        if entry.prompt.kind is PromptKind.PERMISSION:
            self._viewer.line("  y = yes, n = no, v = show all of it, s = skip, q = leave", "dim")
            self._viewer.line(f"  always, never: for every {entry.prompt.tool} call of this task", "dim")
        elif entry.prompt.options:
            self._viewer.line("  s = skip, q = leave", "dim")
        else:
            self._viewer.line("  /skip leaves it open, /quit or Ctrl-D leaves the inbox", "dim")
        if len(like) > 1:
            self._viewer.line(
                f"  all = show and allow these {len(like)} {entry.prompt.tool} calls of the task, none = no to them",
                "dim",
            )

    # --- what was typed ---

    def _take(self, entry: OpenPrompt, like: Sequence[OpenPrompt], typed: str) -> bool:
        """Act on it; returns whether the question is settled.

        Raises:
            BadInput: it is no answer.
        """
        prompt, word = entry.prompt, typed.strip().lower()
        targets, answer, unseen = [entry], typed, False
        if prompt.kind is PromptKind.PERMISSION:
            if word == SHOW_ALL:
                self._page([entry])
                return False
            word, unseen = without_unseen(word)
            answer = word if unseen else typed
            if word in ALL_WORDS and len(like) > 1:
                targets, answer = list(like), ALL_WORDS[word]
                if answer != PERMISSION_DEFAULT and not unseen and not self._are_confirmed(targets):
                    return False
        answer, prompts = meant_here(prompt, answer), [one.prompt for one in targets]
        if not unseen:
            refuse_unseen(prompts, answer, self._seen)
        self._sender.tell_changed(entry.record, prompts, answer)
        for one in targets:
            self._sender.send(one.record, one.prompt, answer)
            self._done.add(_key(one))
        return True

    def _are_confirmed(self, targets: Sequence[OpenPrompt]) -> bool:
        """Whether a person who has seen all of these says yes once more."""
        self._page([one for one in targets if one.prompt.prompt_id not in self._seen])
        if any(one.prompt.prompt_id not in self._seen for one in targets):
            return False
        question = f"  yes to these {len(targets)} [{PERMISSION_DEFAULT}]: "
        typed = self._reader.read(question, lambda: any(self._is_overtaken(one) for one in targets))
        return isinstance(typed, str) and typed.strip().lower() in {"y", "yes"}

    def _page(self, entries: Sequence[OpenPrompt]) -> None:
        for one in entries:
            pager = Pager(self._viewer, self._reader, lambda entry=one: self._is_overtaken(entry))  # type: ignore[misc]  # the loop's own entry
            if pager.show(one.shown) is not True:
                return
            self._seen.add(one.prompt.prompt_id)


def _key(entry: OpenPrompt) -> tuple[str, str]:
    return entry.task_id, entry.prompt.prompt_id


def _alike(entry: OpenPrompt, others: Sequence[OpenPrompt]) -> list[OpenPrompt]:
    found = alike((entry.record, entry.prompt), [(one.record, one.prompt) for one in others])
    keys = {(record.task_id, prompt.prompt_id) for record, prompt in found}
    return [one for one in others if _key(one) in keys]


def _question(prompt: Prompt) -> str:
    if prompt.kind is PromptKind.CONVERSATION:
        return "  you: "
    return f"  answer [{PERMISSION_DEFAULT}]: " if prompt.kind is PromptKind.PERMISSION else "  answer: "

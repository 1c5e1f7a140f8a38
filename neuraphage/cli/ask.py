"""Asks a person in place, while the task is still followed: it may be answered elsewhere, or end, meanwhile."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable

from neuraphage.cli.prompts import leaves, meant, question, show_prompt
from neuraphage.cli.transcript import Transcript
from neuraphage.cli.viewer import Viewer
from neuraphage.client import Client
from neuraphage.errors import BadInput, IllegalMove, PromptNotOpen
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

READ_BYTES = 65_536


class TypedLines:
    """Lines that a person types, without waiting for them.

    Args:
        fd: of a terminal in its usual mode.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""

    def forget(self) -> None:
        """Drop what was typed before anything was asked: it answers nothing."""
        self._text = ""
        self._decoder.reset()
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def next(self) -> str | None:
        """The next line; None while there is none.

        Raises:
            EOFError: there will be none any more (Ctrl-D, or the terminal is gone).
        """
        if "\n" not in self._text and select.select([self._fd], [], [], 0)[0]:
            try:
                read = os.read(self._fd, READ_BYTES)
            except OSError:  # the terminal is gone
                read = b""
            if not read:
                raise EOFError
            self._text += self._decoder.decode(read)
        line, end, rest = self._text.partition("\n")
        if not end:
            return None
        self._text = rest
        return line


def terminal_lines() -> TypedLines | None:
    """The person at this terminal; None when input or output is none."""
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return TypedLines(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or a stream of something else
        pass
    return None


class Asker:
    """Asks the open prompts of a task, one after the other.

    Args:
        client: sends the answers.
        viewer: writes.
        transcript: tells what a permission is about.
        lines: what the person types.
        answered: told of each call (by tool_use id, if it is one) whose question was answered here.
    """

    def __init__(
        self,
        client: Client,
        viewer: Viewer,
        transcript: Transcript,
        lines: TypedLines,
        answered: Callable[[str | None], None],
    ) -> None:
        self._client = client
        self._viewer = viewer
        self._transcript = transcript
        self._lines = lines
        self._tell_answered = answered
        self._asked: Prompt | None = None
        self._answered: set[str] = set()

    def attend(self, record: TaskRecord) -> bool:
        """Ask what is open, take in what was typed. Call it again and again while the task waits.

        Returns:
            False when the person does not want to answer.
        """
        still_open = {prompt.prompt_id: prompt for prompt in record.prompts}
        if self._asked is not None and self._asked.prompt_id not in still_open:
            self._viewer.line("  it was answered elsewhere", "dim")
            self._asked = None
        if self._asked is None:
            fresh = [prompt for prompt_id, prompt in still_open.items() if prompt_id not in self._answered]
            if fresh:
                self._ask(record, fresh[0])
            return True
        try:
            line = self._lines.next()
        except EOFError:
            return False
        if line is not None and leaves(self._asked, line):
            self._viewer.answered()
            return False
        if line is not None:
            self._take(record, self._asked, line)
        return True

    def _ask(self, record: TaskRecord, prompt: Prompt) -> None:
        call = self._transcript.call(prompt.tool_use_id) if prompt.tool_use_id else None
        show_prompt(self._viewer, record, prompt, call, in_place=True)
        self._lines.forget()
        self._viewer.ask(question(prompt))
        self._asked = prompt

    def _take(self, record: TaskRecord, prompt: Prompt, line: str) -> None:
        self._viewer.answered()
        try:
            self._client.answer(record.task_id, meant(prompt, line), prompt_id=prompt.prompt_id)
        except BadInput as error:
            self._viewer.line(f"  {error}", "yellow")
            self._viewer.ask(question(prompt))
            return
        except (PromptNotOpen, IllegalMove):
            self._viewer.line("  it was answered elsewhere", "dim")
        else:
            self._tell_answered(prompt.tool_use_id)
        self._answered.add(prompt.prompt_id)
        self._asked = None

"""Reads what a person types or pastes as one answer, and leaves the terminal as it was.

prompt_toolkit edits the line (it is there with Celery): a paste is one text, whatever lines it has, and wide
characters, long texts and a narrow terminal are its business.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

LOOK_S = 0.1
"""Between two looks whether the question is still open."""
PASTE_PAUSE_S = 0.1
"""What follows Enter within this time was pasted by a terminal that does not mark what is pasted."""
PASTE_REST_S = 1.0
"""Such a paste may halt in its midst, on a slow line: so long its rest is waited for, and taken for no other answer."""
TYPED_S = 0.05
"""Enter that comes sooner after the last letter was not typed, but came with it."""
QUIET_S = 0.05
DISCARD_S = 2.0
"""A paste may still be on its way when nobody reads any more; so long it is waited for at most."""
KILLED_EXIT = 128
AS_BEFORE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?2004l\r\n"
"""Plain colours, lines that wrap, a cursor that is seen, pastes without marks: what a line editor leaves in order."""


class Left(Enum):
    """Why there is no answer."""

    NO_ANSWER = auto()
    """The person wants to give none (Ctrl-D), or the terminal is gone."""
    INTERRUPTED = auto()
    """Ctrl-C."""
    OVERTAKEN = auto()
    """The question is not open any more, or others are."""


@dataclass
class LineReader:
    """The person at a terminal.

    Args:
        fd: of the terminal that is read.
    """

    fd: int
    draft: str = ""
    """What was typed when a question was overtaken; it stands there again at the next one."""
    rest_until_s: float = 0.0
    """Until when the rest of a paste may come whose beginning was taken for an answer, monotonic."""

    def read(self, question: str, overtaken: Callable[[], bool]) -> str | Left:
        """Ask, and wait for the answer.

        Args:
            question: stands before the answer.
            overtaken: asked again and again, in another thread.
        """
        self.discard()
        with self._restored():
            try:
                return asyncio.run(self._ask(question, overtaken))
            except (EOFError, OSError, termios.error):
                return Left.NO_ANSWER

    async def _ask(self, question: str, overtaken: Callable[[], bool]) -> str | Left:
        from prompt_toolkit import PromptSession  # noqa: PLC0415 - only a question needs it, and it takes a while
        from prompt_toolkit.input.typeahead import clear_typeahead  # noqa: PLC0415 - only a question needs it
        from prompt_toolkit.output.vt100 import Vt100_Output  # noqa: PLC0415 - only a question needs it

        # without reports of the cursor's place: one that comes late would be typed into the shell
        output = Vt100_Output.from_pty(sys.stdout)
        output.enable_cpr = False
        pace = _Pace(self)
        session: PromptSession[Any] = PromptSession(
            [("bold", question)], output=output, key_bindings=_keys(pace), enable_open_in_editor=True, multiline=True
        )
        session.default_buffer.on_text_changed += pace.changed

        async def watch() -> None:
            while not await asyncio.to_thread(overtaken):
                await asyncio.sleep(LOOK_S)
            self.draft = session.default_buffer.text
            if session.app.is_running and not session.app.is_done:
                session.app.exit(result=Left.OVERTAKEN)

        clear_typeahead(session.input)
        draft, self.draft = self.draft, ""
        watching = asyncio.create_task(watch())
        try:
            answer: str | Left = await session.prompt_async(
                default=draft, handle_sigint=False, set_exception_handler=False
            )
        finally:
            watching.cancel()
        return answer

    @contextlib.contextmanager
    def _restored(self) -> Iterator[None]:
        """Whatever happens, the terminal's modes are as before; a plain kill ends the process in order."""

        def end(number: int, _frame: object) -> None:
            raise SystemExit(KILLED_EXIT + number)

        modes = termios.tcgetattr(self.fd)
        before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.write(AS_BEFORE)
                sys.stdout.flush()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            with contextlib.suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)

    def _flush(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fd, termios.TCIFLUSH)

    def discard(self) -> None:
        """Drop what is there of the input, and what still comes of a paste.

        What was typed before a question answers nothing, and what is left after the last one would run in the shell.
        """
        until_s = time.monotonic() + DISCARD_S
        self._flush()
        with contextlib.suppress(OSError):
            while (left_s := until_s - time.monotonic()) > 0:
                quiet_s = max(QUIET_S, self.rest_until_s - time.monotonic())
                if not select.select([self.fd], [], [], min(quiet_s, left_s))[0]:
                    return
                self._flush()


class _Pace:
    """How fast letters and Enter come: nobody types as fast as a paste.

    Args:
        reader: told until when the rest of a paste may come.
    """

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self._changed_s = 0.0
        self._is_paste = False

    def changed(self, _buffer: object) -> None:
        """The text has changed."""
        self._changed_s = time.monotonic()

    def ends_line(self, event: KeyPressEvent) -> bool:
        """Whether this Enter is a line of a paste that the terminal does not mark; else it ends the answer."""
        came_along = time.monotonic() - self._changed_s < TYPED_S
        wait_s = PASTE_REST_S if self._is_paste and came_along else PASTE_PAUSE_S
        if event.key_processor.input_queue or select.select([self._reader.fd], [], [], wait_s)[0]:
            self._is_paste = True
            return True
        if came_along:
            self._reader.rest_until_s = time.monotonic() + PASTE_REST_S
        return False


def _keys(pace: _Pace) -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415 - only a question needs it

    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        if pace.ends_line(event):
            event.current_buffer.insert_text("\n")
        else:
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        event.app.exit(result=Left.INTERRUPTED)

    return keys


def person_here() -> LineReader | None:
    """The person at this terminal; None when input or output is none."""
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return LineReader(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or a stream of something else
        pass
    return None

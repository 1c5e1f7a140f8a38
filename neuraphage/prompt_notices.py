"""Runs a person's command, or asks a local address, when a prompt opens or has waited long.

The worker that opened a prompt tells of it, behind the commit. What it has not told when it dies, and what has waited
long, a watcher tells (runtime/notice_desk.py). A failure is logged and nothing more.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from queue import Empty, Queue
from typing import Any

from neuraphage.decide.prompt_notice import OPENED, as_variables
from neuraphage.errors import NeuraphageError
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord
from neuraphage.runtime.fork_guard import GUARD
from neuraphage.runtime.notice_desk import DueNotice, NoticeDesk

NOTICE_LIMIT_S = 10.0
"""A command is ended after so long, and an address is given up."""
MOST_NOTICES = 1_000
"""Notices that wait for their turn; further ones are left to the watcher."""
KEPT_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
"""Of the worker's environment, which holds its keys too, a command gets these alone."""
log = logging.getLogger(__name__)


class LocalNotices:
    """Implements ports.PromptNotices by one thread, which ends when nothing is left to be told.

    Args:
        desk: decides, and marks what is told.
    """

    def __init__(self, desk: NoticeDesk) -> None:
        self._desk = desk
        self._due: Queue[DueNotice | None] = Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """See ports.PromptNotices."""
        self._put([DueNotice(record, prompt, OPENED) for prompt in prompts])

    def look(self) -> None:
        """See ports.PromptNotices. Looks in the thread, too, and not while that has something to do."""
        if self._due.empty():
            self._put([None])

    def _put(self, due: Sequence[DueNotice | None]) -> None:
        with self._lock:
            for one in due:
                if self._due.qsize() >= MOST_NOTICES:
                    log.warning("%d notices wait to be told; further ones are told later", MOST_NOTICES)
                    break
                self._due.put(one)
            if due and (self._thread is None or not self._thread.is_alive()):  # after a fork it is another's
                self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._tell_all, name="neuraphage-prompt-notices", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the machine gives no more threads; the next look tries again
            self._thread = None
            log.warning("prompts are not told of: %s", error)

    def _tell_all(self) -> None:
        """Until nothing is left; the next prompt begins another thread."""
        while True:
            with self._lock:
                try:
                    due = self._due.get_nowait()
                except Empty:
                    self._thread = None
                    return
            with GUARD.at_work():  # the watcher's process may fork a child meanwhile
                self._see_to(due)

    def _see_to(self, due: DueNotice | None) -> None:
        try:
            for one in self._desk.due() if due is None else (due,):
                self._desk.tell(one)
        except NeuraphageError as error:
            log.warning("prompts are told of later: %s", error)
        except Exception:  # it must outlive every bug, or nobody is told any more
            log.exception("a notice failed unexpectedly")


class Outside:
    """Runs the person's command, and posts to their address.

    Args:
        command: argv, run without a shell: the notice is in PROMPT_* variables, and as JSON on standard input. Empty
            for none.
        url: of this machine, to which the JSON is posted; None for none.
    """

    def __init__(self, command: Sequence[str], url: str | None) -> None:
        self._command = tuple(command)
        self._url = url

    def tell(self, told: Mapping[str, Any]) -> None:
        """Tell a notice. A failure is logged: nothing says how far it had come, so it counts as told."""
        text = json.dumps(told).encode()
        if self._command:
            try:
                run_command(self._command, text, as_variables(dict(told)))
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                log.warning("prompt_command %s failed: %s", self._command[0], error)
        if self._url is not None:
            try:
                post(self._url, text)
            except (OSError, ValueError) as error:
                log.warning("prompt_url did not take a notice: %s", error)


def run_command(argv: Sequence[str], text: bytes, variables: Mapping[str, str]) -> None:
    """Run a command to its end, or end it with all that it has started.

    Raises:
        OSError, ValueError: it did not start.
        SubprocessError: it failed, or took longer than NOTICE_LIMIT_S.
    """
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - the person's own command, without a shell
        argv, env={**kept, **variables}, cwd="/", stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            process.communicate(text, NOTICE_LIMIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, argv[0])


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could lead off this machine."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: it is an error then."""


def post(url: str, text: bytes) -> None:
    """Post JSON to an address of this machine: through no proxy, and to where no redirect leads.

    Raises:
        OSError, ValueError: nobody took it.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    request = urllib.request.Request(url, text, {"Content-Type": "application/json"})  # noqa: S310 - settings take http alone
    with opener.open(request, timeout=NOTICE_LIMIT_S) as answer:
        answer.read(1_000)

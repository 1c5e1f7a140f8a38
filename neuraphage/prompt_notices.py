"""Runs a person's command, or asks a local address, when a prompt opens or has waited long.

It is done by one thread of the worker that opened the prompt, behind the commit. What is told may be told twice, and is
lost with the worker; the inbox has it all the same. A failure is logged and nothing more.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, PriorityQueue
from typing import Any

from neuraphage.decide.prompt_notice import OPENED, WAITING, as_variables, notice
from neuraphage.errors import NeuraphageError
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

NOTICE_LIMIT_S = 10.0
"""A command is ended after so long, and an address is given up."""
MOST_NOTICES = 1_000
"""Notices that wait for their turn or their time; further ones are dropped, which is logged."""
KEPT_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
"""Of the worker's environment, which holds its keys too, a command gets these alone."""
_log = logging.getLogger(__name__)


@dataclass(order=True)
class _Due:
    """A notice and its time, monotonic."""

    at_s: float
    number: int
    record: TaskRecord = field(compare=False)
    prompt: Prompt = field(compare=False)
    event: str = field(compare=False)


class LocalNotices:
    """Implements ports.PromptNotices.

    Args:
        command: argv, run without a shell: the notice is in PROMPT_* variables, and as JSON on standard input. Empty
            for none.
        url: of this machine, to which the JSON is posted; None for none.
        wait_s: tell again after so long if the prompt is still open; None for not.
        is_open: whether a prompt of a task is open, by their ids; asked before it is told again.
    """

    def __init__(
        self, command: Sequence[str], url: str | None, wait_s: float | None, is_open: Callable[[str, str], bool]
    ) -> None:
        self._command = tuple(command)
        self._url = url
        self._wait_s = wait_s
        self._is_open = is_open
        self._due: PriorityQueue[_Due] = PriorityQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._number = 0

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """See ports.PromptNotices."""
        now_s = time.monotonic()
        with self._lock:
            for prompt in prompts:
                self._put(now_s, record, prompt, OPENED)
                if self._wait_s is not None:
                    self._put(now_s + self._wait_s, record, prompt, WAITING)
            if prompts and (self._thread is None or not self._thread.is_alive()):  # after a fork it is another's
                self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._tell_all, name="neuraphage-prompt-notices", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the machine gives no more threads; the next prompt tries again
            self._thread = None
            _log.warning("prompts are not told of: %s", error)

    def _put(self, at_s: float, record: TaskRecord, prompt: Prompt, event: str) -> None:
        if self._due.qsize() >= MOST_NOTICES:
            _log.warning("%d prompts wait to be told of; %s of %s is not", MOST_NOTICES, event, record.task_id)
            return
        self._number += 1
        self._due.put(_Due(at_s, self._number, record, prompt, event))

    def _tell_all(self) -> None:
        """Until nothing is left; the next prompt begins another thread."""
        while True:
            with self._lock:
                try:
                    due = self._due.get_nowait()
                except Empty:
                    self._thread = None
                    return
            left_s = due.at_s - time.monotonic()
            if left_s > 0:  # the earliest of all, unless another one comes meanwhile
                self._due.put(due)
                time.sleep(min(left_s, 0.2))
                continue
            try:
                if due.event == OPENED or self._is_open(due.record.task_id, due.prompt.prompt_id):
                    self._tell(notice(due.record, due.prompt, due.event))
            except NeuraphageError as error:
                _log.warning("whether a prompt of %s is still open is not known: %s", due.record.task_id, error)

    def _tell(self, told: Mapping[str, Any]) -> None:
        text = json.dumps(told).encode()
        if self._command:
            try:
                run_command(self._command, text, as_variables(dict(told)))
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                _log.warning("prompt_command %s failed: %s", self._command[0], error)
        if self._url is not None:
            try:
                post(self._url, text)
            except (OSError, ValueError) as error:
                _log.warning("prompt_url did not take a notice: %s", error)


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

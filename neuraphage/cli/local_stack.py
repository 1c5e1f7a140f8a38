"""The stack that `run` works on: one that runs, or one that is started for as long as it is used."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Self, TypeVar

from neuraphage import stack_note
from neuraphage.cli.console import complain
from neuraphage.cli.flags import chosen_flags
from neuraphage.data_folder import make_data_folder
from neuraphage.decide.tiers import resolved
from neuraphage.dev.process import by_tether, is_full, without_current_folder
from neuraphage.dev.server import LOADING_TIMEOUT_S
from neuraphage.dev.stack_use import is_taken, lock_start, use_stack
from neuraphage.errors import BadInput, StackError
from neuraphage.model_access import model_access
from neuraphage.private_files import open_private, private_folder
from neuraphage.proc import own_session
from neuraphage.setting_sources import variable
from neuraphage.settings import Settings

LOOK_AGAIN_S = 0.05
WAIT_LIMIT_S = 120.0
"""Longest wait for a stack that starts or ends."""
START_LIMIT_S = LOADING_TIMEOUT_S + WAIT_LIMIT_S
"""Longest wait for a stack of our own: its server may have a large file to read."""
END_SHOWN_S = 15.0
"""How long `run` stays to see its stack end; a step of another task may take longer, and is not waited for."""
_OUTPUT_TAIL_BYTES = 4_000

T = TypeVar("T")
_log = logging.getLogger(__name__)


class LocalStack:
    """Use the stack of the data folder, or start one that ends when its last user has left.

    A started stack is a process of a session of its own: a terminal's Ctrl-C does not reach it, and it ends after
    the step in hand, however this process ends. Servers that the settings name are used as they are.

    Args:
        settings: data folder.
        script: script to play (module:attribute); None for the real model.
        tell: told what is waited for, again and again.
        model: that of the task, or a tier; None for that of a task that goes on, which nobody knows yet.
    """

    def __init__(
        self, settings: Settings, script: str | None, tell: Callable[[str], None], *, model: str | None = None
    ) -> None:
        self._data_dir = settings.data_dir.absolute()
        self._is_named = settings.names_servers
        self._script = script
        self._tools = settings.tools
        self._settings = settings
        self._model = None if model is None else resolved(model, settings.tiers).model
        self._tell = tell
        self._use: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def started(self) -> bool:
        """Whether it was started here, and so ends after this process."""
        return self._process is not None

    def __enter__(self) -> Self:
        if self._is_named:
            if self._script is not None:
                raise BadInput("--script starts a stack of its own: take NEURAPHAGE_STATE_URL out of the settings")
            if "tools" in chosen_flags():
                raise BadInput("--tool is for a stack of your own; workers of other servers have their own settings")
            for name, option in (("openai_base_url", "--base-url"), ("prices", "--price"), ("hooks", "--hook")):
                if name in chosen_flags():
                    raise BadInput(f"{option} is for a stack of your own; workers of other servers have their settings")
            return self
        try:
            self._use = self._await(self._become_user, "another stack ends")
            with self._await(lambda: lock_start(self._data_dir), "another stack starts"):
                self._find_or_start()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._leave()
        if kind is None and self._process is not None:
            with contextlib.suppress(StackError, KeyboardInterrupt):  # who does not want to see it end may go
                self._await(self._has_ended, "the stack ends", END_SHOWN_S)

    def _become_user(self) -> IO[bytes] | None:
        try:
            make_data_folder(self._data_dir)  # each time: a purge may have removed it
        except OSError as error:
            raise StackError(
                f"make the data folder {self._data_dir}: {error.strerror}; choose another NEURAPHAGE_DATA_DIR"
            ) from error
        return use_stack(self._data_dir)

    def _find_or_start(self) -> None:
        if is_taken(self._data_dir):
            self._await(self._is_settled, "another stack starts or ends")
        if is_taken(self._data_dir):
            _log.info("uses the stack that runs for %s", self._data_dir)
            self._check_script(stack_note.script_of_running_stack(self._data_dir))
            self._check_tools(stack_note.tools_of_running_stack(self._data_dir))
            self._check_base_url(stack_note.base_url_of_running_stack(self._data_dir))
            self._check_prices(stack_note.prices_of_running_stack(self._data_dir))
            self._check_hooks(stack_note.hooks_of_running_stack(self._data_dir))
        else:
            self._start()

    def _is_settled(self) -> bool:
        return stack_note.exists(self._data_dir) or not is_taken(self._data_dir)

    def _check_script(self, running: str | None) -> None:
        """Never play a script on a person's files unless the person says so, and never pay when a script is asked."""
        if running == self._script:
            return
        plays = f"plays the script {running} and calls no model" if running else "calls the real model"
        wanted = f"play {self._script}" if self._script else "call the real model"
        raise BadInput(f"the stack that runs for {self._data_dir} {plays}; stop it first to {wanted}")

    def _check_tools(self, running: frozenset[str]) -> None:
        """Say it where the stack that runs was not told of a tool that this call is told of."""
        missing = [name for name in self._tools if name not in running]
        if missing:
            text = f"the stack that runs for {self._data_dir} has no {', '.join(missing)}; stop it first to use that"
            if "tools" in chosen_flags():
                raise BadInput(text)
            complain(f"warning: {text}")

    def _check_hooks(self, running: frozenset[str]) -> None:
        """A guard that the person counts on is missing in a stack that was not told of it: nothing is begun there."""
        missing = [name for name in self._settings.hooks if name not in running]
        if missing:
            hooks = ", ".join(missing)
            raise BadInput(f"the stack that runs for {self._data_dir} has no hook {hooks}; stop it first to use that")

    def _check_base_url(self, running: str | None) -> None:
        if "openai_base_url" in chosen_flags() and running != self._settings.openai_base_url:
            where = running or "no server of your own"
            raise BadInput(f"the stack that runs for {self._data_dir} calls {where}; stop it first to call another one")

    def _check_prices(self, running: frozenset[str]) -> None:
        if "prices" in chosen_flags() and running != frozenset(self._settings.prices):
            known = ", ".join(sorted(running)) or "no prices of your own"
            raise BadInput(f"the stack that runs for {self._data_dir} knows {known}; stop it first to set others")

    def _start(self) -> None:
        if self._script is None:
            access = model_access(self._settings)
            problem = access.problem if self._model is None else access.problem_of(self._model)
            if problem is not None:
                raise BadInput(f"{problem}; no stack runs that can call {self._model or 'a model'}")
        stack_note.remove(self._data_dir)
        log_path = self._data_dir / "logs" / "dev.log"
        private_folder(log_path.parent)
        told = {variable("data_dir"): str(self._data_dir)}
        if self._settings.openai_base_url:
            told[variable("openai_base_url")] = self._settings.openai_base_url
        if self._tools:
            told[variable("tools")] = ",".join(self._tools)
        if self._settings.hooks:
            told[variable("hooks")] = ",".join(self._settings.hooks)
        if self._settings.prices:
            told[variable("prices")] = "\n".join(self._settings.prices)
        env = without_current_folder(os.environ | told)
        # -P: a person's directory may hold modules with the names of ours
        argv = [sys.executable, "-P", "-m", "neuraphage.cli", "dev", "--while-used"]
        if self._script is not None:
            argv += ["--script", self._script]
        _log.info("starts a stack: %s; its output is in %s", shlex.join(argv), log_path)
        log = open_private(log_path, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
        try:
            self._process = own_session.start(
                by_tether(argv), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        finally:
            os.close(log)
        self._await(
            lambda: stack_note.exists(self._data_dir) or self._has_ended(), "a local stack starts", START_LIMIT_S
        )
        if self._has_ended():
            self._process = None
            raise StackError(f"the local stack did not start: {_last_words(log_path)}; its output is in {log_path}")

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _leave(self) -> None:
        if self._use is not None:
            self._use.close()
            self._use = None

    def _await(self, look: Callable[[], T | None], what: str, limit_s: float = WAIT_LIMIT_S) -> T:
        """Look until there is something.

        Raises:
            StackError: it took too long.
        """
        deadline_s = time.monotonic() + limit_s
        while not (found := look()):
            if time.monotonic() > deadline_s:
                raise StackError(f"waited {limit_s:g} s: {what}; see {self._data_dir / 'logs'}")
            self._tell(what)
            time.sleep(LOOK_AGAIN_S)
        return found


def _last_words(log: Path) -> str:
    """What a stack said last; its complaint, if there is one."""
    text = log.read_bytes()[-_OUTPUT_TAIL_BYTES:].decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    complaints = [line.removeprefix("neuraphage: ") for line in lines if line.startswith("neuraphage: ")]
    silence = "the disk is full; free some space" if is_full(log.parent) else "it said nothing"
    said = (complaints or lines or [silence])[-1]
    return f"{said} {lines[-1]}" if said.endswith(":") else said.rstrip(".")

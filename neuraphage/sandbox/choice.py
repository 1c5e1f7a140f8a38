"""Which sandbox this machine has, and commands in it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from neuraphage.errors import SettingsError, SpoolError
from neuraphage.model.sandbox import CommandLimits, SandboxKind, SandboxView
from neuraphage.ports import SpoolCommand
from neuraphage.ports.sandbox import Sandbox
from neuraphage.sandbox.bubblewrap import under_bubblewrap
from neuraphage.sandbox.task_folders import TaskFolders
from neuraphage.sandbox.view import view_of

PROGRAM = "bwrap"
SHELL = "/bin/bash"
_TRIAL_LIMIT_S = 60.0
"""The trial takes some hundredths of a second; a machine that is busy may take its time."""
_PRIVATE_ENVIRONMENT = {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/.cache", "npm_config_cache": "/tmp/.npm"}  # noqa: S108 - its own
_NOT_THERE = ("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")
"""Places of sockets that a command in a sandbox does not see."""


class NoSandbox:
    """Commands with all rights of their worker (implements ports.Sandbox).

    Args:
        why: why there is none, and what to do about it.
    """

    kind = SandboxKind.NONE
    why_none: str

    def __init__(self, why: str) -> None:
        self.why_none = why

    def confined(self, command: SpoolCommand) -> SpoolCommand:
        """See ports.Sandbox: as it is."""
        return command


class Bubblewrap:
    """Commands under bubblewrap (implements ports.Sandbox).

    Args:
        program: its path.
        folders: where each task's /tmp is.
        limits: what a command may use.
        private: files and folders that no command sees.
    """

    kind = SandboxKind.BUBBLEWRAP
    why_none = ""

    def __init__(self, program: str, folders: TaskFolders, limits: CommandLimits, private: Iterable[str] = ()) -> None:
        self._program = program
        self._folders = folders
        self._limits = within_system_limits(limits)
        self._private = (*private, str(folders.root))

    def confined(self, command: SpoolCommand) -> SpoolCommand:
        """See ports.Sandbox."""
        environ = {name: value for name, value in command.env.items() if name not in _NOT_THERE} | _PRIVATE_ENVIRONMENT
        view = view_of(command.cwd, self._private, command.env, command.env.get("HOME"))
        self._refuse_own_folder(view)
        argv = under_bubblewrap(
            command.argv,
            view,
            self._limits,
            program=self._program,
            shell=SHELL,
            temporary=str(self._folders.of_task(command.task_id)),
        )
        return replace(command, argv=argv, env=environ)

    def _refuse_own_folder(self, view: SandboxView) -> None:
        """A working directory that is private itself, or stands open to what is: nothing could be hidden in it."""
        for place in self._private:
            if os.path.realpath(place) == view.working_dir:
                raise SpoolError(
                    f"the working directory {view.working_dir} is where neuraphage keeps its own data, which no command"
                    " may see; submit the task with another one"
                )


def within_system_limits(limits: CommandLimits) -> CommandLimits:
    """These limits, lowered to what this process may set."""

    def lowered(value: int, kind: int) -> int:
        most = resource.getrlimit(kind)[1]
        return value if most == resource.RLIM_INFINITY else min(value, most)

    return CommandLimits(
        memory_bytes=lowered(limits.memory_bytes, resource.RLIMIT_DATA),
        processes=lowered(limits.processes, resource.RLIMIT_NPROC),
        file_bytes=lowered(limits.file_bytes, resource.RLIMIT_FSIZE),
    )


def choose_sandbox(setting: str, folders: TaskFolders, limits: CommandLimits, private: Iterable[str] = ()) -> Sandbox:
    """The sandbox of this machine, tried out.

    Args:
        setting: auto, require or off.
        folders: where each task's /tmp is.
        limits: what a command may use.
        private: files and folders that no command sees.

    Raises:
        SettingsError: `require`, and there is none.
    """
    why = why_none(setting)
    program = shutil.which(PROGRAM)
    if why is None and program is not None:
        return Bubblewrap(program, folders, limits, private)
    if setting == "require":
        raise SettingsError(f"the setting sandbox is require, and there is none: {why}, or set sandbox to auto")
    return NoSandbox(why or "")


def why_none(setting: str) -> str | None:
    """Why commands would not be confined here, and what to do about it; None where they would be.

    Args:
        setting: auto, require or off.
    """
    if setting == "off":
        return "the setting sandbox is off"
    program = shutil.which(PROGRAM)
    if program is None:
        return "bubblewrap is not installed (the program bwrap); install the package bubblewrap"
    problem = trial(program)
    return None if problem is None else f"{problem}; allow user namespaces to this user"


def trial(program: str) -> str | None:
    """Why bubblewrap cannot run a command here; None when it can."""
    limits = within_system_limits(CommandLimits(1 << 40, 1 << 20, 1 << 40))
    with tempfile.TemporaryDirectory() as folder:
        working, temporary = Path(folder, "work"), Path(folder, "temporary")
        for made in (working, temporary / "tmp", temporary / "var-tmp"):
            made.mkdir(parents=True)
        view = view_of(os.path.realpath(working), (), {}, None)
        argv = under_bubblewrap(["/bin/true"], view, limits, program=program, shell=SHELL, temporary=str(temporary))
        try:
            ran = subprocess.run(  # noqa: S603 - a program that we found, fixed arguments
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_LIMIT_S, env={}, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not run here: {error}"
    if ran.returncode == 0:
        return None
    said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap does not run here: {said[-1] if said else f'exit status {ran.returncode}'}"

"""Which sandbox this machine has."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from neuraphage.errors import SettingsError, SpoolError
from neuraphage.model.sandbox import CommandLimits, SandboxKind
from neuraphage.ports import Sandbox, SpoolCommand
from neuraphage.private_files import private_folder
from neuraphage.sandbox.cgroups import cgroup_plan, prepared
from neuraphage.sandbox.confinement import Bubblewrap, Landlock, NoSandbox, Seatbelt
from neuraphage.sandbox.kernel_limits import landlock_abi
from neuraphage.sandbox.landlock import LEAST_ABI
from neuraphage.sandbox.limits import let_begin
from neuraphage.sandbox.seatbelt import SANDBOX_EXEC
from neuraphage.sandbox.seccomp import compiled_filter
from neuraphage.sandbox.task_folders import TaskFolders
from neuraphage.sandbox.way_out import WayOut

PROGRAM = "bwrap"
_TRIALS = 5
"""What is to be hidden may be gone before it is; a sandbox that cannot work here cannot at any of them."""
_TRIAL_LIMIT_S = 60.0
"""The trial takes some hundredths of a second; a machine that is busy may take its time."""
_ANY = CommandLimits(memory_bytes=1 << 40, processes=1 << 20, file_bytes=1 << 40)
Confine = Callable[[SpoolCommand], SpoolCommand]


def choose_sandbox(
    setting: str,
    folder: Path,
    limits: CommandLimits,
    private: Iterable[str] = (),
    way_out: WayOut | None = None,
) -> Sandbox:
    """The sandbox of this machine, tried out: bubblewrap, else Landlock; on macOS Seatbelt.

    Args:
        setting: auto, require or off.
        folder: for each task's temporary files, and what else is needed; made when it is.
        limits: what a command may use.
        private: files and folders that no command sees.
        way_out: to hosts that commands may reach; bubblewrap alone lets them.

    Raises:
        SettingsError: `require`, and there is none.
        SpoolError: the filter of system calls cannot be written.
    """
    kind, why = find_sandbox(setting)
    folders = TaskFolders(folder)
    made: Bubblewrap | Landlock
    if kind is SandboxKind.BUBBLEWRAP:
        made = Bubblewrap(shutil.which(PROGRAM) or PROGRAM, folders, limits, private, filter_in(folder), way_out)
    if kind is SandboxKind.LANDLOCK:
        made = Landlock(folders, limits, private)
    if kind in (SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK):
        made.cgroups = prepared(cgroup_plan())
        return made
    if kind is SandboxKind.SEATBELT:
        return Seatbelt(folders, limits, private)
    if setting == "require":
        raise SettingsError(f"the setting sandbox is require, and there is none: {why}, or set sandbox to auto")
    return NoSandbox(why)


def find_sandbox(setting: str) -> tuple[SandboxKind, str]:
    """What commands would be confined by here; of NONE also why, and what to do about it.

    Args:
        setting: auto, require or off.
    """
    if setting == "off":
        return SandboxKind.NONE, "the setting sandbox is off"
    if sys.platform == "darwin":
        found = Path(SANDBOX_EXEC).exists()
        return (
            (SandboxKind.SEATBELT, "") if found else (SandboxKind.NONE, f"there is no {SANDBOX_EXEC}; see the system")
        )
    program = shutil.which(PROGRAM)
    problem = "bubblewrap is not installed (the program bwrap)" if program is None else bubblewrap_problem(program)
    if problem is None:
        return SandboxKind.BUBBLEWRAP, ""
    if landlock_abi() >= LEAST_ABI and compiled_filter(platform.machine()) and _landlock_problem() is None:
        return SandboxKind.LANDLOCK, ""
    advice = "install the package bubblewrap" if program is None else "allow user namespaces to this user"
    return SandboxKind.NONE, f"{problem}; {advice}"


def filter_in(folder: Path) -> str | None:
    """The file of this machine's filter of system calls, written if it is not there; None where there is none.

    Raises:
        SpoolError: it cannot be written.
    """
    program = compiled_filter(platform.machine())
    if program is None:
        return None
    path = folder.absolute().parent / f"filter-{sha256(program).hexdigest()[:16]}"
    try:
        private_folder(path.parent)
        if not path.exists() or path.read_bytes() != program:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(program)
            Path(file.name).replace(path)
    except OSError as error:
        raise SpoolError(f"cannot write the filter of system calls to {path}: {error.strerror or error}") from error
    return str(path)


def bubblewrap_problem(program: str) -> str | None:
    """Why bubblewrap cannot run a command here; None when it can."""
    return _problem("bubblewrap", lambda folder: Bubblewrap(program, TaskFolders(folder), _ANY))


def _landlock_problem() -> str | None:
    return _problem("Landlock", lambda folder: Landlock(TaskFolders(folder), _ANY))


def _problem(name: str, made: Callable[[Path], Sandbox]) -> str | None:
    """Try a command that does nothing, a few times; why it cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        working_dir = Path(folder).resolve() / "work"
        working_dir.mkdir()
        command = SpoolCommand("trial", ("/bin/true",), str(working_dir), _TRIAL_LIMIT_S, {"PATH": os.defpath}, "trial")
        for _ in range(_TRIALS):
            try:
                ran = _tried(made(Path(folder, "temporary")).confined(command))
            except (OSError, SpoolError, subprocess.TimeoutExpired) as error:
                return f"{name} does not run here: {error}"
            if ran.returncode == 0:
                return None
    said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{name} does not run here: {said[-1] if said else f'exit status {ran.returncode}'}"


def _tried(confined: SpoolCommand) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - programs that we found, fixed arguments
        let_begin(confined.argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TRIAL_LIMIT_S,
        cwd=confined.cwd,
        env=dict(confined.env),
        check=False,
    )

"""Control groups of commands: reading what there is, and making it ready."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from neuraphage.model.sandbox import CommandLimits
from neuraphage.ports import CommandCgroup
from neuraphage.sandbox.cgroup_plan import CgroupFolder, CgroupPlan, planned

PREFIX = "neuraphage-command-"
_DELEGATED = ("user.delegate", "trusted.delegate")
"""systemd's marks; the second is for root alone, and the only one before systemd 251."""
_LEFTOVER_S = 60.0
"""A group that was just made is empty until its command is in it."""
_MOVES = 20


@dataclass(frozen=True, slots=True)
class CommandCgroups:
    """Groups for commands.

    Args:
        base: folder that they are made in; None for none.
        why_none: why there are none, and what to do about it.
    """

    base: str | None
    why_none: str = ""

    def of(self, effect_id: str, limits: CommandLimits) -> CommandCgroup | None:
        """The group of a command, which its runner makes; None where there are none."""
        if self.base is None:
            return None
        return CommandCgroup(f"{self.base}/{PREFIX}{effect_id}", limits.memory_bytes, limits.processes)


NO_CGROUPS = CommandCgroups(None)


def cgroup_plan(process: str = "self", mounts: str = "/proc/self/mountinfo") -> CgroupPlan:
    """What could be done here; nothing is changed.

    Args:
        process: whose group is meant, as a name in /proc.
        mounts: file with the mounts of this process.
    """
    if sys.platform != "linux":
        return CgroupPlan(None, why_not="control groups are Linux's")
    found = _own_folder(Path(f"/proc/{process}/cgroup"), Path(mounts))
    if found is None:
        return planned(None, None, frozenset())
    mount, own = found
    above = None if own == mount else folder_at(own.parent, is_root=own.parent == mount)
    return planned(folder_at(own, is_root=own == mount), above, _ours())


def prepared(plan: CgroupPlan) -> CommandCgroups:
    """Carry a plan out: move what has to be moved, enable controllers, remove what was left behind."""
    if plan.base is None:
        return CommandCgroups(None, plan.why_not)
    base = Path(plan.base)
    try:
        if plan.leaf is not None:
            _move_into(base, Path(plan.leaf))
        for name in plan.enable:
            _write(base / "cgroup.subtree_control", f"+{name}")
    except OSError as error:
        return CommandCgroups(None, f"the control group {base} cannot be used: {error.strerror or error}")
    remove_leftovers(base)
    return CommandCgroups(plan.base)


def remove_leftovers(base: Path) -> int:
    """Remove empty groups of commands whose runner and keeper were both killed; returns how many."""
    removed = 0
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it holds processes, or is gone
            if time.time() - folder.stat().st_ctime > _LEFTOVER_S:
                folder.rmdir()
                removed += 1
    return removed


def folder_at(path: Path, *, is_root: bool) -> CgroupFolder:
    """Read one group.

    Args:
        path: its folder.
        is_root: whether it is the topmost that this process sees.
    """
    names = ("", "cgroup.procs", "cgroup.subtree_control")
    return CgroupFolder(
        str(path),
        is_writable=all(os.access(path / name, os.W_OK) for name in names),
        is_marked=any(_mark(path, name) == b"1" for name in _DELEGATED),
        is_root=is_root,
        is_top=is_root and not (path / "cgroup.events").exists(),
        controllers=frozenset(_read(path / "cgroup.controllers").split()),
        enabled=frozenset(_read(path / "cgroup.subtree_control").split()),
        processes=frozenset(int(word) for word in _read(path / "cgroup.procs").split()),
    )


def _own_folder(groups: Path, mounts: Path) -> tuple[Path, Path] | None:
    """Where version 2 is mounted, and the folder of this process there."""
    own = next((line[3:] for line in _read(groups).splitlines() if line.startswith("0::/")), None)
    for line in _read(mounts).splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        if own is None or len(words) < 5 or after.split()[:1] != ["cgroup2"]:
            continue
        root, mount = words[3].rstrip("/"), words[4]
        if ".." not in own.split("/") and f"{own}/".startswith(f"{root}/"):
            return Path(mount), Path(mount + own[len(root) :].rstrip("/"))
    return None


def _ours() -> frozenset[int]:
    """This process and all that it has started."""
    me = psutil.Process()
    return frozenset({me.pid, *(child.pid for child in me.children(recursive=True))})


def _move_into(base: Path, leaf: Path) -> None:
    """Move the processes of a group that are ours, those included that begin meanwhile.

    Raises:
        OSError: it is not possible, or others are there.
    """
    leaf.mkdir(exist_ok=True)
    for _ in range(_MOVES):
        found = {int(word) for word in _read(base / "cgroup.procs").split()}
        if not found:
            return
        if not found <= _ours():
            break
        for pid in found:
            with suppress(ProcessLookupError):
                _write(leaf / "cgroup.procs", str(pid))
    raise OSError("processes that are not this worker's came into it")


def _mark(path: Path, name: str) -> bytes:
    try:
        return os.getxattr(path, name)
    except OSError:
        return b""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)

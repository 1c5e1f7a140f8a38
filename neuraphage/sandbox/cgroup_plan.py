"""Whether commands can have control groups of their own, from what is read of this process's. Pure.

A control group (cgroups(7), version 2) bounds a command with all that it starts, which limits of processes do not. It
can be made only in a folder that was handed to us (delegated): by systemd, which marks it (`Delegate=`), or by a
container whose root it is. Merely being able to write there is not enough: systemd keeps what it has not handed over.

A folder whose controllers serve folders below it may hold no processes itself. So systemd has to put the worker into a
folder below (`DelegateSubgroup=`, since 254). At the root of a container it moves there: itself and what it has
started, and nothing else. In a unit it does not: systemd could not start the worker anew while a command is left.
"""

from __future__ import annotations

from dataclasses import dataclass

CONTROLLERS = frozenset({"memory", "pids"})
LEAF = "neuraphage-worker"
"""The folder that a worker moves into, below the one that was handed to it."""
_ADVICE = "give the worker's unit Delegate=memory pids, DelegateSubgroup=worker (systemd 254), ProtectControlGroups=no"


@dataclass(frozen=True, slots=True)
class CgroupFolder:
    """One control group, as its files tell.

    Args:
        path: of the folder.
        is_writable: whether this process may make groups in it and move processes there.
        is_marked: whether systemd has marked it as handed over.
        is_root: whether it is the topmost that this process sees: the one of its container, or of the machine.
        is_top: whether it is the one of the machine, which may hold processes beside groups.
        controllers: that it has.
        enabled: those that serve the groups below it.
        processes: that are in it, and not in a group below.
    """

    path: str
    is_writable: bool
    is_marked: bool
    is_root: bool = False
    is_top: bool = False
    controllers: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()
    processes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CgroupPlan:
    """How commands get control groups.

    Args:
        base: the folder that they are made in; None for not at all.
        leaf: folder that this process and what it has started move into before; None where they need not.
        enable: controllers that are to serve the groups below the base.
        why_not: why there are none, and what to do about it.
    """

    base: str | None
    leaf: str | None = None
    enable: tuple[str, ...] = ()
    why_not: str = ""


def planned(own: CgroupFolder | None, above: CgroupFolder | None, ours: frozenset[int]) -> CgroupPlan:
    """Decide.

    Args:
        own: the group that this process is in; None where there is no version 2.
        above: the group above it; None where this process sees none.
        ours: this process and all that it has started.
    """
    if own is None:
        return CgroupPlan(None, why_not="this machine has no control groups of version 2")
    is_moved = above is not None and above.is_root and own.path.endswith(f"/{LEAF}")
    if above is not None and (above.is_marked or is_moved) and above.is_writable and not above.processes:
        return _in(above, None)
    if own.is_marked and not own.is_root:
        return CgroupPlan(None, why_not=f"the worker is itself in the control group that was handed over; {_ADVICE}")
    if not own.is_root or not own.is_writable:
        return CgroupPlan(None, why_not=f"the control group {own.path} was not handed to this process; {_ADVICE}")
    if own.is_top or not own.processes:
        return _in(own, None)
    if own.processes <= ours:
        return _in(own, f"{own.path}/{LEAF}")
    others = len(own.processes - ours)
    return CgroupPlan(
        None, why_not=f"the control group {own.path} holds {others} processes that are not this worker's; {_ADVICE}"
    )


def _in(base: CgroupFolder, leaf: str | None) -> CgroupPlan:
    missing = CONTROLLERS - base.controllers
    if missing:
        return CgroupPlan(
            None, why_not=f"the control group {base.path} lacks {' and '.join(sorted(missing))}; {_ADVICE}"
        )
    enable = tuple(sorted(CONTROLLERS - base.enabled))
    return CgroupPlan(base.path, leaf if enable else None, enable)

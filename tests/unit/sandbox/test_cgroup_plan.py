"""Whether commands can have control groups: decided from made-up groups, and read from made-up files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.model.sandbox import CommandLimits
from neuraphage.sandbox import cgroups
from neuraphage.sandbox.cgroup_plan import CgroupFolder, planned
from neuraphage.sandbox.cgroups import CommandCgroups, cgroup_plan, folder_at, prepared, remove_leftovers

BOTH = frozenset({"memory", "pids", "cpu"})
OWN = CgroupFolder("/cg/unit/worker", is_writable=True, is_marked=False, processes=frozenset({1, 2}))
UNIT = CgroupFolder("/cg/unit", is_writable=True, is_marked=True, controllers=BOTH)
ALONE = replace(UNIT, is_marked=False, is_root=True, processes=frozenset({1, 2}))
OURS = frozenset({1, 2, 3})


def test_beside_a_worker_that_was_put_below_its_unit() -> None:
    """As systemd does with DelegateSubgroup: nobody has to move."""
    found = planned(OWN, UNIT, OURS)
    assert (found.base, found.leaf, found.enable, found.why_not) == ("/cg/unit", None, ("memory", "pids"), "")
    assert planned(OWN, replace(UNIT, enabled=BOTH), OURS).enable == ()


def test_a_worker_alone_in_its_container_moves() -> None:
    """With what it has started."""
    found = planned(ALONE, None, OURS)
    assert (found.base, found.leaf) == ("/cg/unit", "/cg/unit/neuraphage-worker")


def test_where_it_has_moved_before_it_stays() -> None:
    """Processes that it has forked find themselves there. In another group below the root nothing is handed over."""
    root = replace(UNIT, is_marked=False, is_root=True)
    assert planned(replace(OWN, path="/cg/unit/neuraphage-worker"), root, OURS).base == "/cg/unit"
    assert planned(OWN, root, OURS).base is None


@pytest.mark.parametrize(
    ("own", "above", "why"),
    [
        (None, None, "no control groups of version 2"),
        (replace(ALONE, is_root=False), None, "was not handed to this process"),
        (replace(ALONE, is_root=False, is_marked=True), None, "is itself in the control group that was handed over"),
        (replace(ALONE, is_writable=False), None, "was not handed to this process"),
        (replace(ALONE, processes=frozenset({1, 2, 9})), None, "holds 1 processes that are not this worker's"),
        (replace(ALONE, controllers=frozenset({"pids"})), None, "lacks memory"),
        (OWN, replace(UNIT, is_marked=False), "was not handed to this process"),
        (OWN, replace(UNIT, is_writable=False), "was not handed to this process"),
        (OWN, replace(UNIT, processes=frozenset({1})), "was not handed to this process"),
        (OWN, replace(UNIT, controllers=frozenset()), "lacks memory and pids"),
    ],
)
def test_else_there_are_none(own: CgroupFolder | None, above: CgroupFolder | None, why: str) -> None:
    """No process of somebody else is moved, and no group is made where systemd has handed nothing over."""
    found = planned(own, above, OURS)
    assert (found.base, found.leaf) == (None, None)
    assert why in found.why_not


def test_the_root_of_the_machine_may_hold_processes() -> None:
    """The kernel asks that of all others alone."""
    top = replace(ALONE, is_top=True, processes=frozenset({1, 50}))
    assert (planned(top, None, OURS).base, planned(top, None, OURS).leaf) == ("/cg/unit", None)


# --- files ------------------------------------------------------------------------------------------------


class Tree:
    """A made-up mount of control groups."""

    def __init__(self, root: Path, own: str) -> None:
        self.root = root
        self.groups, self.mounts = root / "proc" / "cgroup", root / "proc" / "mountinfo"
        self.groups.parent.mkdir()
        self.groups.write_text(f"1:name=systemd:/\n0::{own}\n", encoding="utf-8")
        mount = f"30 23 0:26 / {root}/cg rw,nosuid - cgroup2 cgroup2 rw\n"
        self.mounts.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda rw\n{mount}", encoding="utf-8")

    def group(self, path: str, *, controllers: str = "cpu memory pids", processes: str = "", enabled: str = "") -> Path:
        folder = self.root / "cg" / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (
            ("cgroup.procs", processes), ("cgroup.controllers", controllers), ("cgroup.subtree_control", enabled),
            ("cgroup.events", "populated 1"),
        ):  # fmt: skip
            (folder / name).write_text(text, encoding="utf-8")
        return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    made = Tree(tmp_path, "/system.slice/w.service/worker")
    marked = {str(tmp_path / "cg" / "system.slice" / "w.service")}
    monkeypatch.setattr(cgroups, "_mark", lambda path, _: b"1" if str(path) in marked else b"")
    real = cgroups._own_folder
    monkeypatch.setattr(cgroups, "_own_folder", lambda _, mounts: real(made.groups, mounts))
    return made


def test_groups_are_read(tree: Tree) -> None:
    """Where version 2 is mounted, which group is ours, and what systemd has marked."""
    tree.group("system.slice/w.service/worker", controllers="", processes=f"{os.getpid()}\n")
    unit = tree.group("system.slice/w.service")
    found = cgroup_plan(mounts=str(tree.mounts))
    assert (found.base, found.leaf, found.enable) == (str(unit), None, ("memory", "pids"))


def test_a_group_of_systemds_own_is_left_alone(tree: Tree) -> None:
    """Though it can be written to, as all below a user's manager can."""
    tree.groups.write_text("0::/system.slice/other.service\n", encoding="utf-8")
    tree.group("system.slice/other.service", processes=f"{os.getpid()}\n")
    tree.group("system.slice")
    assert cgroup_plan(mounts=str(tree.mounts)).base is None


@pytest.mark.parametrize("lines", ["", "0::/../elsewhere\n", "5:memory:/x\n"])
def test_where_there_is_no_group_to_be_found(tree: Tree, lines: str) -> None:
    """Version 1 alone, or a group outside of what this process sees."""
    tree.groups.write_text(lines, encoding="utf-8")
    assert "no control groups of version 2" in cgroup_plan(mounts=str(tree.mounts)).why_not


def test_a_plan_is_carried_out(tree: Tree) -> None:
    """Controllers are enabled; what a killed runner left is removed, what may just begin is not."""
    unit = tree.group("system.slice/w.service")
    tree.group("system.slice/w.service/worker", controllers="", processes=f"{os.getpid()}\n")
    made = prepared(cgroup_plan(mounts=str(tree.mounts)))
    assert made == CommandCgroups(str(unit))
    assert (unit / "cgroup.subtree_control").read_text(encoding="utf-8") == "+pids"  # the last of two writes
    group = made.of("ab", CommandLimits(10, 20, 30))
    assert group is not None
    assert (group.path, group.memory_bytes, group.processes) == (f"{unit}/neuraphage-command-ab", 10, 20)
    assert CommandCgroups(None).of("ab", CommandLimits(10, 20, 30)) is None


def test_leftovers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty ones of ours, not those that were made just now."""
    for name in ("neuraphage-command-a", "neuraphage-command-b/inner", "other"):
        (tmp_path / name).mkdir(parents=True)
    assert remove_leftovers(tmp_path) == 0
    monkeypatch.setattr(cgroups, "_LEFTOVER_S", -1.0)
    assert remove_leftovers(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["neuraphage-command-b", "other"]


def test_what_the_kernel_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands then have the limits of processes alone."""

    def refused(path: Path, text: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(cgroups, "_write", refused)
    made = prepared(planned(replace(OWN, path=str(tmp_path)), replace(UNIT, path=str(tmp_path)), OURS))
    assert made.base is None
    assert "Device or resource busy" in made.why_none


def test_the_root_of_the_machine_is_known(tmp_path: Path) -> None:
    """It has no events."""
    assert folder_at(tmp_path, is_root=True).is_top
    (tmp_path / "cgroup.events").touch()
    assert not folder_at(tmp_path, is_root=True).is_top

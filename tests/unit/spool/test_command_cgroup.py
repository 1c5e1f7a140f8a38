"""The control group of a command, as its runner uses it, over a made-up folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuraphage.spool import command_cgroup
from neuraphage.spool.command_cgroup import CommandGroup

FILES = ("pids.max", "memory.max", "memory.oom.group", "memory.swap.max", "cgroup.procs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As the kernel fills one that is made; it may be one of a runner that was killed."""
    made = tmp_path / "group"
    made.mkdir()
    for name in FILES:
        (made / name).touch()
    return made


def group(folder: Path) -> CommandGroup:
    return CommandGroup(os.fsencode(folder), 1000, 20)


def test_its_limits_are_set_before_a_process_is_in_it(folder: Path) -> None:
    """All of its processes go when memory is short, and nothing is swapped out in their place."""
    group(folder).make()
    assert [(folder / name).read_text(encoding="utf-8") for name in FILES] == ["20", "1000", "1", "0", ""]
    group(folder).join()
    assert (folder / "cgroup.procs").read_text(encoding="utf-8") == "0"  # the process that writes it


def test_a_kernel_without_swap_has_no_limit_of_it(folder: Path) -> None:
    """That of memory must be there."""
    (folder / "memory.swap.max").unlink()
    group(folder).make()
    (folder / "memory.max").unlink()
    with pytest.raises(FileNotFoundError):
        group(folder).make()


@pytest.mark.parametrize(
    ("memory", "pids", "told"),
    [
        ("low 0\nmax 9\noom 1\noom_kill 0\n", "max 0\n", ("", "")),
        ("low 0\noom 1\noom_kill 3\noom_group_kill 1\n", "max 5\n", ("memory_limit", "")),
        ("oom_kill 0\n", "max 2\n", ("", "it reached its limit of processes (command_processes)")),
    ],
)
def test_what_it_has_reached_is_told(folder: Path, memory: str, pids: str, told: tuple[str, str]) -> None:
    """Killed for want of memory; refused a process."""
    (folder / "memory.events").write_text(memory, encoding="utf-8")
    (folder / "pids.events").write_text(pids, encoding="utf-8")
    assert group(folder).limit_reached() == told


def test_without_files_nothing_is_told(folder: Path) -> None:
    """Nor without a group, where nothing is done at all."""
    assert group(folder).limit_reached() == ("", "")
    none = CommandGroup(b"", 0, 0)
    none.make()
    none.join()
    none.remove()
    assert none.limit_reached() == ("", "")


def test_it_is_removed_once_nothing_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses until then; it is not waited for without end."""
    (tmp_path / "empty").mkdir()
    group(tmp_path / "empty").remove()
    group(tmp_path / "empty").remove()
    assert not (tmp_path / "empty").exists()
    monkeypatch.setattr(command_cgroup, "_REMOVE_LIMIT_S", 0.05)
    (tmp_path / "held" / "inner").mkdir(parents=True)
    group(tmp_path / "held").remove()
    assert (tmp_path / "held").exists()

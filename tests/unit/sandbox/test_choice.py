"""Which sandbox a machine has, and what is said where it has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.errors import SettingsError, SpoolError
from neuraphage.model.sandbox import CommandLimits, SandboxKind
from neuraphage.ports import SpoolCommand
from neuraphage.sandbox import choice, limits
from neuraphage.sandbox.choice import bubblewrap_problem, choose_sandbox
from neuraphage.sandbox.kernel_limits import landlock_abi
from neuraphage.sandbox.landlock import LEAST_ABI
from sandboxkit import LIMITS, SandboxedHost, find_bubblewrap


def program(folder: Path, text: str) -> str:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_one_that_works_is_taken(tmp_path: Path) -> None:
    """The control."""
    find_bubblewrap()
    found = choose_sandbox("auto", tmp_path / "sandbox", LIMITS)
    assert (found.kind, found.why_none) == (SandboxKind.BUBBLEWRAP, "")


@pytest.mark.parametrize("setting", ["auto", "require"])
def test_one_that_is_not_installed_is_named(setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """auto goes on without, and says why; require does not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(choice, "landlock_abi", lambda: 0)
    if setting == "require":
        with pytest.raises(SettingsError, match=r"is require.*bubblewrap is not installed.*install the package"):
            choose_sandbox(setting, tmp_path / "sandbox", LIMITS)
        return
    found = choose_sandbox(setting, tmp_path / "sandbox", LIMITS)
    assert found.kind is SandboxKind.NONE
    assert found.why_none == "bubblewrap is not installed (the program bwrap); install the package bubblewrap"
    command = SpoolCommand("a" * 16, ("true",), str(tmp_path), 1.0, {})
    assert found.confined(command) is command


def test_one_that_cannot_work_is_no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system forbids user namespaces: its own words are told."""
    program(tmp_path, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(choice, "landlock_abi", lambda: 0)
    found = choose_sandbox("auto", tmp_path / "sandbox", LIMITS)
    assert found.kind is SandboxKind.NONE
    assert "setting up uid map: Permission denied" in found.why_none
    assert "allow user namespaces" in found.why_none


def test_one_that_runs_nothing_is_told(tmp_path: Path) -> None:
    """It may also be no program at all."""
    assert bubblewrap_problem(program(tmp_path, "exit 3")) == "bubblewrap does not run here: exit status 3"
    assert "does not run here" in str(bubblewrap_problem(str(tmp_path / "missing")))


def test_off_is_off(tmp_path: Path) -> None:
    """Also where one is installed."""
    assert choose_sandbox("off", tmp_path / "sandbox", LIMITS).kind is SandboxKind.NONE


def test_the_data_folder_is_no_working_directory(host: SandboxedHost) -> None:
    """Nothing could be hidden there: the command does not run."""
    host.work = host.data
    with pytest.raises(SpoolError, match="keeps its own data, which no command may see"):
        host.command("true")


def test_limits_above_the_systems_own_are_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that is told to raise one would refuse."""
    hard = {limits.resource.RLIMIT_DATA: 1000, limits.resource.RLIMIT_NPROC: 10}
    infinite = limits.resource.RLIM_INFINITY
    monkeypatch.setattr(limits.resource, "getrlimit", lambda kind: (infinite, hard.get(kind, infinite)))
    assert limits.within_system_limits(CommandLimits(2000, 5, 3000)) == CommandLimits(1000, 5, 3000)


def test_without_bubblewrap_landlock_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel has it; what it leaves out is told by doctor and by the worker's log."""
    if landlock_abi() < LEAST_ABI:
        pytest.skip("this kernel has no Landlock")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = choose_sandbox("require", tmp_path / "sandbox", LIMITS)
    assert (found.kind, found.why_none) == (SandboxKind.LANDLOCK, "")
    assert "$TMPDIR" in found.told

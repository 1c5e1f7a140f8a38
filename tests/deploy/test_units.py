"""The systemd units: what a worker's restart must not end, and what systemd itself says of the files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from composefile import read_env

from neuraphage.queue.celery_config import celery_settings
from neuraphage.settings import Settings
from source_tree import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))


def entries(path: Path) -> dict[str, str]:
    """Key and value of every line; a key that comes twice is an error here."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=" in line and not line.startswith("#")]
    assert len({line.split("=")[0] for line in lines}) == len(lines)
    return read_env(path)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_every_unit_is_kept_up_and_has_time_to_stop(path: Path) -> None:
    """Restarted for ever, asked to stop before it is killed, never as root, secrets from a file."""
    unit = entries(path)
    assert (unit["Restart"], unit["StartLimitIntervalSec"], unit["KillSignal"]) == ("always", "0", "SIGTERM")
    assert float(unit["TimeoutStopSec"]) > celery_settings(Settings())["worker_soft_shutdown_timeout"]
    assert unit["User"] == "neuraphage"
    assert unit["EnvironmentFile"].startswith("/etc/neuraphage/")
    assert unit["NoNewPrivileges"] == "yes"


def test_a_command_outlives_the_restart_of_its_worker() -> None:
    """It is a process of the unit's group: only the worker itself may be killed, and its files must stay."""
    (path,) = [path for path in UNITS if "worker" in path.name]
    unit = entries(path)
    assert (unit["KillMode"], unit["OOMPolicy"]) == ("process", "continue")
    assert "PrivateTmp" not in unit
    assert "ProcSubset" not in unit, "the boot id is read from /proc"
    assert "PrivatePIDs" not in unit, "the next worker must be the same host"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Unknown keys and wrong values are complaints; the missing program of this machine is not ours."""
    for path in UNITS:
        text = path.read_text(encoding="utf-8").replace("/opt/neuraphage/bin/celery", "/bin/true")
        (tmp_path / path.name.replace("@", "@1")).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(map(str, tmp_path.iterdir()))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "neuraphage" in line]
    assert (done.returncode, ours) == (0, [])

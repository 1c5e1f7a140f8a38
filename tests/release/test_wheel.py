"""What people install is what was tested: the wheel, alone, on a machine that has never seen it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from neuraphage.celery_app import find_workers
from neuraphage.errors import StackError
from releasekit import Machine, lines_of_wheel
from source_tree import ROOT

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A person's own project, with a package and a script of names that we use too."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "__init__.py").write_text("raise SystemExit('this is another project')\n", encoding="utf-8")
    (tmp_path / "workers" / "app.py").write_text(
        "from celery import Celery\napp = Celery('theirs')\n", encoding="utf-8"
    )
    return tmp_path


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    """Every tracked file of the two packages; no test, no document."""
    names = {name for name in lines_of_wheel(wheel) if ".dist-info/" not in name}
    here = {
        str(path.relative_to(ROOT))
        for package in ("neuraphage", "workers")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert names == here


@pytest.mark.timeout(2_400)
def test_a_new_machine_runs_the_demo_in_a_foreign_project(machine: Machine, project: Path) -> None:
    """Empty home, no server on PATH, only declared packages, and a folder with a `workers` package of its own."""
    assert shutil.which("redis-server", path=machine.environment["PATH"]) is None
    ran = machine.run("neuraphage", "demo", "--patience", "120", cwd=project, limit_s=1_200)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "It holds." in ran.stdout
    assert list((machine.folder / "tmp").iterdir()) == []


def test_a_foreign_workers_package_on_the_path_hides_nothing(machine: Machine, project: Path) -> None:
    """`neuraphage.celery_app` is found whatever comes first; `workers.app` is refused, and both are named."""
    celery = (machine.python, "-m", "celery")
    ours = machine.run(*celery, "-A", "neuraphage.celery_app", "report", cwd=project, PYTHONPATH=str(project))
    assert ours.returncode == 0, ours.stderr
    assert "np.run" in ours.stdout
    theirs = machine.run(*celery, "-A", "workers.app", "worker", "-Q", "np.run", cwd=project)
    assert theirs.returncode == 1
    assert theirs.stderr.startswith(f"neuraphage: -A workers.app finds {project / 'workers' / '__init__.py'}, which")
    assert "-A neuraphage.celery_app" in theirs.stderr
    assert "Traceback" not in theirs.stderr


def test_a_call_that_may_mean_the_foreign_app_is_left_alone(machine: Machine, project: Path) -> None:
    """Other projects of the machine have their own `workers.app`; without our queues it is theirs."""
    (project / "workers" / "__init__.py").write_text("", encoding="utf-8")
    ran = machine.run(machine.python, "-m", "celery", "-A", "workers.app", "report", cwd=project)
    assert ran.returncode == 0, ran.stderr
    assert "np.run" not in ran.stdout


@pytest.mark.parametrize("command", [["demo"], ["dev", "--script", "x:y"]])
def test_a_package_installed_over_ours_is_named(machine: Machine, tmp_path: Path, command: list[str]) -> None:
    """Nothing is started, and one line names the file and what to do."""
    ours = machine.packages / "workers" / "__init__.py"
    kept = ours.read_text(encoding="utf-8")
    ours.write_text("# another project\n", encoding="utf-8")
    try:
        ran = machine.run("neuraphage", *command, cwd=tmp_path)
        celery = machine.run(machine.python, "-m", "celery", "-A", "neuraphage.celery_app", "report", cwd=tmp_path)
    finally:
        ours.write_text(kept, encoding="utf-8")
    for ended in (ran, celery):
        assert ended.returncode == 1
        assert ended.stderr.startswith(f"neuraphage: {ours} is not neuraphage's: another project")
        assert ended.stderr.count("\n") == 1


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    """As after an interrupted installation."""
    with pytest.raises(StackError, match=r"workers/__init__\.py, a part of neuraphage, cannot be read"):
        find_workers(tmp_path)


def test_what_only_developers_install_is_not_there(machine: Machine) -> None:
    """The control: what only developers install is not there."""
    ran = machine.run(machine.python, "-c", "import fakeredis", cwd=machine.folder)
    assert "ModuleNotFoundError" in ran.stderr

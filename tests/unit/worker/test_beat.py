"""The place of beat's schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.data_folder import is_ours
from neuraphage.queue.app import make_app
from neuraphage.settings import Settings
from neuraphage.worker.beat import Scheduler


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that nobody has made yet."""
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_beat_makes_its_folder(data_dir: Path) -> None:
    """It may start before the first worker; the data folder is marked as ours, so that purge may remove it."""
    scheduler = Scheduler(make_app(Settings()), schedule_filename=str(data_dir / "beat" / "schedule"))
    assert "sweep" in scheduler.schedule
    scheduler.close()
    assert is_ours(data_dir)


def test_a_damaged_schedule_is_begun_anew(data_dir: Path) -> None:
    """What it held is made again from the configuration."""
    (data_dir / "beat").mkdir(parents=True)
    (data_dir / "beat" / "schedule").write_bytes(b"\xff no schedule \x00")
    scheduler = Scheduler(make_app(Settings()), schedule_filename=str(data_dir / "beat" / "schedule"))
    assert "sweep" in scheduler.schedule
    scheduler.close()


def test_a_place_that_cannot_be_is_told_in_one_line(data_dir: Path) -> None:
    """A file in place of the folder."""
    data_dir.mkdir()
    (data_dir / "beat").touch()
    with pytest.raises(SystemExit, match=r"beat: make the folder .*/beat: File exists; choose another place by -s"):
        Scheduler(make_app(Settings()), schedule_filename=str(data_dir / "beat" / "schedule"))

"""`where` and `purge`: what lies where, and that only what is ours goes, and only when nobody uses it."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from clikit import CommandLine, Ran
from neuraphage import data_folder
from neuraphage.data_folder import MARK, make_data_folder
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.ports import SpoolCommand
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.health import HealthReporter, health_folder
from neuraphage.runtime.host import this_process
from neuraphage.spool.command_spool import CommandSpool


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder that neuraphage made, with a server's file, a log and a spool in it."""
    folder = tmp_path / "data"
    make_data_folder(folder)
    for name in ("server/appendonlydir/a.aof", "logs/worker.log", "spool/default/identity"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x" * 1_000, encoding="utf-8")
    return folder


def refused(ran: Ran, code: int, *words: str) -> None:
    """Refused in one line."""
    assert ran.code == code
    assert ran.err.count("\n") == 1
    assert all(word in ran.err for word in words), ran.err


def test_where_shows_places_and_sizes(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    """Each with its path and size, whether it is there or not."""
    places = {place["name"]: place for place in cli("where", "--json").json}
    assert places["data"] | {"holds": ""} == {
        "name": "data", "path": str(data), "exists": True, "holds": "",
        "bytes": 3_000 + (data / MARK).stat().st_size,
    }  # fmt: skip
    assert {name: places[name]["bytes"] for name in ("server", "logs", "spool")} == dict.fromkeys(
        ("server", "logs", "spool"), 1_000
    )
    assert places["socket"]["path"] == str(data / "server" / "server.sock")
    assert places["user settings"] | {"exists": False} == places["user settings"]
    assert places["user settings"]["path"] == str(tmp_path / "config" / "neuraphage" / "neuraphage.toml")
    shown = cli("where").out
    assert all(place["path"] in shown for place in places.values())


def test_where_makes_nothing(cli: CommandLine, tmp_path: Path) -> None:
    """On a machine where nothing was started yet."""
    assert cli("where").code == 0
    assert not (tmp_path / "data").exists()


def test_a_quota_that_is_exceeded_is_told(cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By where, health and doctor, with the name of the setting."""
    for name in ("SPOOL_MAX_BYTES", "SPOOL_QUOTA_BYTES", "DATA_QUOTA_BYTES"):
        monkeypatch.setenv(f"NEURAPHAGE_{name}", "900")
    assert "spool_quota_bytes" in cli("where").err
    warnings = cli("health", "--json").json["warnings"]
    assert [("spool_quota_bytes" in text, "data_quota_bytes" in text) for text in warnings] == [
        (True, False),
        (False, True),
    ]
    (finding,) = [f for f in cli("doctor", "--json").json["findings"] if f["check"] == "quotas"]
    assert finding["level"] == "problem"


def test_a_health_check_measures_now_and_then(cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called every few seconds, also on a folder with very many files; doctor looks at all of them each time."""
    monkeypatch.setenv("NEURAPHAGE_SPOOL_MAX_BYTES", "900")
    monkeypatch.setenv("NEURAPHAGE_SPOOL_QUOTA_BYTES", "5000")
    monkeypatch.setenv("NEURAPHAGE_DATA_QUOTA_BYTES", "10000")

    def warnings() -> list[bool]:
        return ["data_quota_bytes" in text for text in cli("health", "--json").json["warnings"]]

    assert warnings() == []
    (data / "logs" / "big.log").write_text("x" * 20_000, encoding="utf-8")
    assert warnings() == [], "the last measurement still counts"
    kept = data / "health" / data_folder.MEASURED
    for age_s in (data_folder.KEPT_S + 1, -3_600):  # too old; and noted before the clock was set back
        os.utime(kept, (time.time() - age_s,) * 2)
        assert warnings() == [True]
        kept.write_text("{", encoding="utf-8")
        assert warnings() == [True], "what cannot be read is measured again"
    kept.unlink()
    monkeypatch.setattr(data_folder, "MAX_FILES", 0)
    assert warnings() == []
    assert "data_quota_bytes" in cli("where").err


def test_a_health_check_makes_no_data_folder(cli: CommandLine, tmp_path: Path) -> None:
    """On a machine where nothing was started yet."""
    assert cli("health").code == 1
    assert not (tmp_path / "data").exists()


def test_purge_removes_all_that_is_ours(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    """It says what goes, then the folder itself is gone; settings stay."""
    own_file = tmp_path / "config" / "neuraphage" / "neuraphage.toml"
    own_file.parent.mkdir(parents=True)
    own_file.write_text("", encoding="utf-8")
    ran = cli("purge", "--yes")
    assert ran.code == 0
    assert all(str(data / name) in ran.out for name in ("server", "logs", "spool"))
    assert not data.exists()
    assert own_file.exists()
    assert "nothing to remove" in cli("purge", "--yes").out


def test_purge_asks_first(cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal there is nobody to ask; a person who says no keeps everything."""
    refused(cli("purge"), 2, "--yes")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text: bool(asked.append(text)))
    ran = cli("purge")
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "nothing was removed")
    assert str(data) in asked[0]
    assert (data / "logs" / "worker.log").exists()


def test_purge_leaves_what_is_not_ours(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    """A stranger's file keeps the folder; a link in place of ours is not followed."""
    (data / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("mine", encoding="utf-8")
    (data / "beat").symlink_to(tmp_path / "elsewhere")
    ran = cli("purge", "--yes")
    assert ran.code == 0
    assert "notes.txt" in ran.out.splitlines()[-1]
    assert {path.name for path in data.iterdir()} == {MARK, "beat", "notes.txt"}
    assert (tmp_path / "elsewhere" / "kept").exists()


@pytest.mark.parametrize("content", ["logs", "notes.txt"])
def test_purge_refuses_a_folder_that_was_there_before(cli: CommandLine, tmp_path: Path, content: str) -> None:
    """Somebody chose it as data folder; a `logs` in it may be theirs."""
    folder = tmp_path / "data"
    (folder / content).mkdir(parents=True)
    make_data_folder(folder)
    refused(cli("purge", "--yes"), 2, "was not made by neuraphage", str(folder))
    assert (folder / content).exists()


def test_purge_refuses_while_a_stack_runs(cli: CommandLine, data: Path) -> None:
    """Whoever holds the folder is named by its process id."""
    with take_lock(open_files(data)):
        refused(cli("purge", "--yes"), 1, str(os.getpid()))
    assert (data / "logs").exists()
    assert cli("purge", "--yes").code == 0


def test_purge_refuses_while_a_worker_runs(cli: CommandLine, data: Path) -> None:
    """Also one that Celery started, of any namespace."""
    folder = health_folder(data, "another")
    folder.mkdir(parents=True)
    reporter = HealthReporter(folder, None, SystemClock(), this_process(), "worker@here", 1.0, lambda: True)  # type: ignore[arg-type]  # asks no store
    reporter.write()
    refused(cli("purge", "--yes"), 1, "worker@here", str(os.getpid()))
    assert (data / "logs").exists()


def test_purge_refuses_while_a_command_runs(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    """A spooled command outlives its worker, and its output is waited for."""
    spool = CommandSpool(data / "spool" / "default", 1_000_000)
    spool.start(SpoolCommand("ab" * 8, ("/bin/sleep", "60"), str(tmp_path), 60.0, {}, "task-1"))
    try:
        refused(cli("purge", "--yes"), 1, "a command of task-1 runs")
    finally:
        spool.cancel("ab" * 8)
    assert cli("purge", "--yes").code == 0


def test_a_socket_in_a_run_folder(cli: CommandLine, tmp_path: Path) -> None:
    """A path too long for a socket: it lies in a short folder, which is shown, and goes with the rest."""
    folder = tmp_path / ("long" * 30)
    files = open_files(folder)
    assert files.socket_path.parent != files.folder
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(files.socket_path))
    listener.close()
    places = {place["name"]: place for place in cli("where", "--json", "--data-dir", str(folder)).json}
    assert places["socket"]["path"] == str(files.socket_path)
    assert cli("purge", "--yes", "--data-dir", str(folder)).code == 0
    assert not files.socket_path.parent.exists()
    assert not folder.exists()

"""Log files that do not grow without limit, whoever holds them open, and lose no line."""

from __future__ import annotations

import errno
import json
import logging
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from neuraphage.dev.exit_cause import read_tail
from neuraphage.dev.log_rotation import LogRotation
from neuraphage.log_files import RotatingLogFile, aside, copy_aside
from neuraphage.settings import Settings
from neuraphage.worker.logs import configure
from patience import PATIENCE_S

WRITER = """
import logging, sys
from neuraphage.log_files import RotatingLogFile
handler = RotatingLogFile(sys.argv[1], 4_000, 50)
for number in range(200):
    handler.emit(logging.LogRecord("x", 20, "", 0, f"{sys.argv[2]} {number} " + "." * 60, None, None))
"""

FORKED = """
import logging, os, sys
from neuraphage.log_files import RotatingLogFile
handler = RotatingLogFile(sys.argv[1], 1_000, 99)
children = []
for name in "abcd":
    if (child := os.fork()) == 0:
        for number in range(200):
            handler.emit(logging.LogRecord("x", 20, "", 0, f"{name} {number} " + "." * 60, None, None))
        os._exit(0)
    children.append(child)
print(*[os.waitpid(child, 0)[1] for child in children])
"""


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back afterwards."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


def write(handler: logging.Handler, text: str) -> None:
    handler.emit(logging.LogRecord("x", logging.INFO, "", 0, text, None, None))


def test_processes_share_a_log_file(tmp_path: Path) -> None:
    """Three real ones write and set aside at once: each line is there once, no file is much too large."""
    log = tmp_path / "w.log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(log), name]) for name in ("a", "b", "c")]
    assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0, 0]
    files = list(tmp_path.iterdir())
    lines = [line.split(" .")[0] for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(lines) == sorted(f"{name} {number}" for name in ("a", "b", "c") for number in range(200))
    assert len(files) > 5
    assert max(path.stat().st_size for path in files) < 5_000


def test_forked_processes_share_a_log_file(tmp_path: Path) -> None:
    """Children of a prefork worker inherit its open file: each line is there once, and nobody complains."""
    log = tmp_path / "w.log"
    ran = subprocess.run([sys.executable, "-c", FORKED, str(log)], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("0 0 0 0\n", "")
    lines = [
        line.split(" .")[0] for path in tmp_path.iterdir() for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert sorted(lines) == sorted(f"{name} {number}" for name in "abcd" for number in range(200))


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """The oldest goes; the newest is number one; all are private."""
    log = tmp_path / "w.log"
    handler = RotatingLogFile(str(log), 10, keep=2)
    for number in range(5):
        write(handler, f"line number {number}")
    handler.close()
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "w.log": "line number 4\n", "w.log.1": "line number 3\n", "w.log.2": "line number 2\n",
    }  # fmt: skip
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_was_moved_away_is_opened_again(tmp_path: Path) -> None:
    """As logrotate does it."""
    log = tmp_path / "w.log"
    handler = RotatingLogFile(str(log), 1_000, keep=2)
    write(handler, "one")
    log.rename(tmp_path / "moved")
    write(handler, "two")
    handler.close()
    assert log.read_text(encoding="utf-8") == "two\n"


def test_a_line_is_written_though_nothing_can_be_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is too large is better than one that misses lines."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    log = tmp_path / "w.log"
    (tmp_path / "w.log.1").mkdir()
    (tmp_path / "w.log.1" / "x").write_text("", encoding="utf-8")
    (tmp_path / "w.log.2").mkdir()
    handler = RotatingLogFile(str(log), 5, keep=2)
    for text in ("first", "second"):
        write(handler, text)
    handler.close()
    assert log.read_text(encoding="utf-8") == "first\nsecond\n"


def test_the_output_of_a_process_that_goes_on(tmp_path: Path) -> None:
    """Copied and cut while it writes by appending, as dev's processes do; what follows starts the file anew."""
    log = tmp_path / "worker.log"
    with log.open("a", buffering=1) as output:
        output.write("before\n" * 10)
        rotation = LogRotation(lambda: [log, tmp_path / "absent.log"], max_bytes=50, keep=2)
        rotation.look()
        output.write("after\n")
        rotation.look()
    assert log.read_text(encoding="utf-8") == "after\n"
    assert aside(log, 1).read_text(encoding="utf-8") == "before\n" * 10
    assert stat.S_IMODE(aside(log, 1).stat().st_mode) == 0o600
    assert read_tail(log, start_bytes=70) == "after\n", "an exit's cause is looked for in what is there"


def test_rotation_looks_by_itself(tmp_path: Path) -> None:
    """In a thread, until it is left."""
    log = tmp_path / "worker.log"
    log.write_text("x" * 100, encoding="utf-8")
    with LogRotation(lambda: [log], max_bytes=50, keep=2, look_again_s=0.01):
        while log.stat().st_size:  # ended by the test's own time limit
            pass
    log.write_text("x" * 100, encoding="utf-8")
    assert aside(log, 1).stat().st_size == 100


def test_nothing_is_cut_that_was_not_copied(tmp_path: Path) -> None:
    """No room for a copy: the log stays."""
    log = tmp_path / "worker.log"
    log.write_text("x" * 100, encoding="utf-8")
    (tmp_path / "worker.log.1").mkdir()
    with pytest.raises(OSError, match=r"worker\.log\.1"):
        copy_aside(log, 1)
    assert log.stat().st_size == 100


def test_what_was_set_aside_stays_while_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is tried again every few seconds: no try takes a former file, and none leaves a part of a copy."""
    log = tmp_path / "worker.log"
    log.write_text("x" * 100, encoding="utf-8")
    aside(log, 1).write_text("former", encoding="utf-8")

    def full(_source: object, copy: IO[bytes]) -> None:
        copy.write(b"x")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            copy_aside(log, 3)
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"worker.log": 100, "worker.log.1": 6}


@pytest.mark.parametrize("form", ["text", "json"])
def test_workers_write_as_the_settings_say(
    root: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A line with task, turn and fence in either form, in a file of the size that the settings allow."""
    monkeypatch.setenv("NEURAPHAGE_LOG_MAX_BYTES", "100000")
    log = tmp_path / "w.log"
    configure(Settings(log_format=form, log_files=1), None, str(log))  # type: ignore[arg-type]  # one of two
    logging.getLogger("np").info("claimed", extra={"task": "task-1", "turn": 3, "fence": 7})
    (line,) = log.read_text(encoding="utf-8").splitlines()
    if form == "json":
        assert json.loads(line) | {"time": ""} == {
            "time": "", "level": "INFO", "logger": "np", "task": "task-1", "turn": 3, "fence": 7, "message": "claimed",
        }  # fmt: skip
    else:
        assert line.endswith("INFO np task=task-1 turn=3 fence=7 claimed")
    for _ in range(30):
        logging.getLogger("np").info("x" * 9_000)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["w.log", "w.log.1"]
    root.handlers[0].close()

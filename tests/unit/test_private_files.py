"""The data folder and all in it: whose it is, who may write to it, and what any umask makes of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuraphage import stack_note
from neuraphage.data_folder import CONTENTS, MARK, folder_problem, make_data_folder
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.flower import prepare_flower
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.dev.stack import StackPlan, make_folders
from neuraphage.errors import SpoolError, StackError
from neuraphage.log_files import RotatingLogFile
from neuraphage.private_files import open_private, private_folder, replace_private
from neuraphage.runtime.election import HostElection
from neuraphage.settings import Settings
from neuraphage.spool import CommandSpool

STRANGER = 54_321
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each umask, until the test is over."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes_below(folder: Path) -> dict[str, int]:
    """The mode of everything in a folder, itself included."""
    found = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in found}


def everything(data_dir: Path) -> None:
    """Make all that a stack makes in its folder."""
    address = ServerAddress("redis://:pw@h/1", "redis://:pw@h/0")
    take_lock(open_files(data_dir)).close()
    make_folders(StackPlan(data_dir, address))
    prepare_flower(data_dir)
    stack_note.write(data_dir, address, "default", "m")
    HostElection(data_dir / "watcher", "here").won()
    assert CommandSpool(data_dir / "spool", 1_000).identity
    log = RotatingLogFile(str(data_dir / "logs" / "worker.log"), 1_000, 2)
    log.close()


@pytest.mark.usefixtures("umask")
def test_everything_is_private_under_any_umask(tmp_path: Path) -> None:
    """Folders 0700, files 0600: also those above the data folder that were missing."""
    everything(tmp_path / "new" / "data")
    modes = modes_below(tmp_path / "new")
    assert len(modes) > 12
    assert {stat.S_ISDIR((tmp_path / "new" / name).lstat().st_mode): mode for name, mode in modes.items()} == {
        True: 0o700,
        False: 0o600,
    }
    assert {mode for name, mode in modes.items()} == {0o600, 0o700}


COMMAND = """
import os, sys
from pathlib import Path
from neuraphage.ports import SpoolCommand
from neuraphage.spool import CommandSpool
os.umask(int(sys.argv[2], 8))
class Never:
    def check(self): pass
    def subscribe(self, wake): return lambda: None
spool = CommandSpool(Path(sys.argv[1]) / "spool", 1_000_000)
argv = ["/bin/sh", "-c", "umask; echo it-ran"]
spool.start(SpoolCommand(effect_id="0" * 32, argv=argv, cwd="/", env=dict(os.environ), timeout_s=30.0))
print(spool.wait("0" * 32, 1_000, Never()).output)
"""


@pytest.mark.parametrize("mask", ["0000", "0777"])
def test_a_command_runs_and_keeps_its_umask(tmp_path: Path, mask: str) -> None:
    """What the spool keeps of it is private; the command itself makes its files as its user has said."""
    argv = [sys.executable, "-P", "-c", COMMAND, str(tmp_path), mask]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.split() == [mask, "it-ran"], ran.stderr
    assert set(modes_below(tmp_path / "spool").values()) == {0o600, 0o700}


MAKERS: dict[str, Callable[[Path], object]] = {
    "data": make_data_folder,
    "server": open_files,
    "flower": prepare_flower,
    "watcher": lambda data: HostElection(data / "watcher", "here").won(),
    "spool": lambda data: CommandSpool(data / "spool", 1_000),
    "logs": lambda data: make_folders(StackPlan(data, ServerAddress("redis://h/1", "redis://h/0"))),
    "beat": lambda data: make_folders(StackPlan(data, ServerAddress("redis://h/1", "redis://h/0"))),
}


def made(tmp_path: Path, what: str) -> Path:
    """A data folder as neuraphage makes it; the one folder of it that a test changes."""
    make_data_folder(tmp_path / "data")
    place = tmp_path / "data" if what == "data" else tmp_path / "data" / what
    place.mkdir(exist_ok=True, mode=0o700)
    return place


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777])
@pytest.mark.parametrize("what", MAKERS)
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, what: str, mode: int) -> None:
    """Nobody knows what was put into it; the words say which one and what to do, and it stays as it is."""
    place = made(tmp_path, what)
    place.chmod(mode)
    with pytest.raises((PermissionError, StackError, SpoolError), match=rf"can be written by others \(mode {mode:04o}"):
        MAKERS[what](tmp_path / "data")
    assert stat.S_IMODE(place.stat().st_mode) == mode
    assert f"{place} can be written by others" in (folder_problem(tmp_path / "data") or "")


@AS_ROOT
@pytest.mark.parametrize("what", MAKERS)
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, what: str) -> None:
    """Its owner may put anything there, whatever its mode."""
    place = made(tmp_path, what)
    os.chown(place, STRANGER, STRANGER)
    with pytest.raises((PermissionError, StackError, SpoolError), match=f"belongs to user {STRANGER}"):
        MAKERS[what](tmp_path / "data")
    assert f"belongs to user {STRANGER}" in (folder_problem(tmp_path / "data") or "")


@pytest.mark.parametrize("what", [name for name in MAKERS if name != "data"])
def test_a_link_in_place_of_a_folder_is_refused(tmp_path: Path, what: str) -> None:
    """It leads to what is not ours; purge does not follow it either."""
    place = made(tmp_path, what)
    place.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises((PermissionError, StackError, SpoolError), match="is a link or no folder"):
        MAKERS[what](tmp_path / "data")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_data_folder_may_be_a_link_of_ones_own(tmp_path: Path) -> None:
    """To a folder on a large disk, which is checked in its place."""
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    make_data_folder(tmp_path / "data")
    assert (tmp_path / "disk" / MARK).is_file()
    (tmp_path / "disk").chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        make_data_folder(tmp_path / "data")


@AS_ROOT
def test_a_link_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """In /tmp anybody can make one, to a folder of ours with other things in it."""
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    os.chown(tmp_path / "data", STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(PermissionError, match="a link that another user made"):
        make_data_folder(tmp_path / "data")


def test_rights_to_read_are_taken_from_a_folder_that_we_made(tmp_path: Path) -> None:
    """And left on one that somebody had made before, who may have said so."""
    make_data_folder(tmp_path / "data")
    (tmp_path / "data").chmod(0o755)
    make_data_folder(tmp_path / "data")
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(0o755)
    (tmp_path / "theirs" / "notes.txt").touch()
    make_data_folder(tmp_path / "theirs")
    assert stat.S_IMODE((tmp_path / "theirs").stat().st_mode) == 0o755


def test_commands_know_the_prices_of_the_stack(tmp_path: Path) -> None:
    """Its workers go by them, whatever the settings of the command say: `dev --price` is told to them alone."""
    data = tmp_path / "data"
    make_data_folder(data)
    stack_note.write(data, ServerAddress("redis://h/1", "redis://h/0"), "default", "m", prices=["openai: 1 2"])
    settings = Settings(data_dir=data, prices=("mine 3 4",))
    assert stack_note.settings_of_running_stack(settings).prices == ("openai: 1 2",)


@pytest.mark.parametrize("change", ["folder", "file", "link"])
def test_the_stack_of_a_place_that_others_can_write_to_is_not_used(tmp_path: Path, change: str) -> None:
    """Whoever wrote the file would be sent every prompt: it names the server."""
    data = tmp_path / "data"
    make_data_folder(data)
    stack_note.write(data, ServerAddress("redis://h/1", "redis://h/0"), "default", "m")
    settings = Settings(data_dir=data)
    assert stack_note.settings_of_running_stack(settings).state_url.get_secret_value() == "redis://h/1"
    if change == "link":
        (data / "stack.json").rename(tmp_path / "theirs.json")
        (data / "stack.json").symlink_to(tmp_path / "theirs.json")
    else:
        {"folder": data, "file": data / "stack.json"}[change].chmod(0o777)
    with pytest.raises(StackError, match="is not believed"):
        stack_note.settings_of_running_stack(settings)


@pytest.mark.parametrize("kind", ["writable", "link", "fifo"])
def test_a_file_that_is_not_ours_alone_is_not_opened(tmp_path: Path, kind: str) -> None:
    """A log, a lock or a password that others may change, a link that leads elsewhere, a pipe that never answers."""
    path = tmp_path / "file"
    if kind == "writable":
        path.touch()
        path.chmod(0o666)
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    with pytest.raises(PermissionError):
        open_private(path, os.O_WRONLY)
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Nothing is left beside it."""
    replace_private(tmp_path / "file", "one")
    replace_private(tmp_path / "file", "two")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["two"]


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    """It tells whether it was made."""
    assert private_folder(tmp_path / "a" / "b")
    assert not private_folder(tmp_path / "a" / "b")


def test_every_folder_of_ours_is_tried(tmp_path: Path) -> None:
    """A new one needs its line above."""
    everything(tmp_path / "data")
    folders = {path.name for path in (tmp_path / "data").iterdir() if path.is_dir()}
    assert folders <= MAKERS.keys() <= CONTENTS.keys() | {"data"}

"""What the system refuses becomes a SpoolError, wherever in a call it happens; what was there is there afterwards."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, records
from neuraphage.spool.entry import Entry
from spoolkit import DONE_ID, LOST_ID, NEW_ID, SEALED_ID, command

CALLS: dict[str, Callable[[CommandSpool], object]] = {
    "look at one that is done": lambda spool: spool.look(DONE_ID, 10).state,
    "look at a sealed one": lambda spool: spool.look(SEALED_ID, 10).state,
    "look at a lost one": lambda spool: spool.look(LOST_ID, 10).state,
    "look at none": lambda spool: spool.look(NEW_ID, 10).state,
    "start one that is done": lambda spool: spool.start(command(DONE_ID)),
    "start a sealed one": lambda spool: spool.start(command(SEALED_ID)),
    "seal one that is done": lambda spool: spool.seal(DONE_ID),
    "cancel one that is done": lambda spool: spool.cancel(DONE_ID),
    "revoke one that is done": lambda spool: spool.revoke(DONE_ID),
}
KINDS = {
    "done": DetachedState.DONE,
    "sealed": DetachedState.SEALED,
    "lost": DetachedState.LOST,
    "none": DetachedState.ABSENT,
}
ANSWERS = {name: next(state for word, state in KINDS.items() if word in name) for name in CALLS}
WRITES: dict[str, Callable[[CommandSpool], object]] = {
    "start": lambda spool: spool.start(command()),
    "seal": lambda spool: spool.seal(NEW_ID),
    "cancel": lambda spool: spool.cancel(NEW_ID),
    "identity": lambda spool: spool.identity,
}


@contextmanager
def files_left(count: int) -> Iterator[None]:
    """So many more files may be open in this process at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(count + 1)]
    for file in free:
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def refusal(call: Callable[[CommandSpool], object], spool: CommandSpool, count: int) -> object:
    """What a call answers with so many files left, or the text of its error."""
    try:
        with files_left(count):
            return call(spool)
    except SpoolError as error:
        return str(error)


@pytest.mark.parametrize("count", range(4))
def test_a_process_without_open_files_to_spare(filled: CommandSpool, count: int) -> None:
    """Every look answers right or says what it lacks, never that nothing is there; and no file is left open."""
    opened = len(list(Path("/dev/fd").iterdir()))
    for name, call in CALLS.items():
        found = refusal(call, filled, count)
        assert found is ANSWERS[name] or (count < 3 and "Too many open files" in str(found)), name
    for name, call in WRITES.items():
        found = refusal(call, filled, count)
        assert isinstance(found, DetachedState) or len(str(found)) == 32 or "Too many open files" in str(found), name
    with files_left(0), pytest.raises(SpoolError):
        filled.expire(0)
    assert len(list(Path("/dev/fd").iterdir())) == opened
    assert filled.look(DONE_ID, 100).output == "words\n"


@pytest.mark.parametrize("name", ["exit.json", "output"])
def test_a_file_that_cannot_be_read_is_told(filled: CommandSpool, name: str) -> None:
    """An outcome that cannot be read is not an outcome that is not there."""
    (filled._root / DONE_ID / name).unlink()
    (filled._root / DONE_ID / name).mkdir()
    entry = Entry(filled._root / DONE_ID)
    for call in (
        lambda: filled.look(DONE_ID, 10),
        entry.exit_facts if name == "exit.json" else lambda: entry.output(9),
    ):
        with pytest.raises(SpoolError, match="cannot read the spool entry"):
            call()


@pytest.mark.parametrize("name", [*CALLS, *WRITES, "running", "expire"])
def test_a_folder_that_is_none(tmp_path: Path, name: str) -> None:
    """Its place was taken by a file: every call says so, with the path."""
    spool = CommandSpool(tmp_path / "spool", 1_000)
    spool._root.rmdir()
    spool._root.touch()
    call = (CALLS | WRITES | {"running": CommandSpool.running, "expire": lambda spool: spool.expire(0)})[name]
    with pytest.raises(SpoolError, match=str(spool._root)):
        call(spool)
    with pytest.raises(SpoolError, match="make the spool folder"):
        CommandSpool(spool._root / "below", 1_000)


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.parametrize("name", ["start", "seal"])
def test_what_is_not_on_the_disk_is_not_told(
    filled: CommandSpool, monkeypatch: pytest.MonkeyPatch, name: str, failing: int
) -> None:
    """Each wait for the disk may fail, and then no command was started; else folder and entry are on the disk."""
    sync, waited = os.fsync, []

    def fails_at(file: int) -> None:
        waited.append(os.fstat(file).st_ino)
        if len(waited) == failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(file)

    monkeypatch.setattr(os, "fsync", fails_at)
    found = refusal(WRITES[name], filled, 100)
    if 0 < failing <= len(waited):
        assert "Input/output error" in str(found)
        assert filled.look(NEW_ID, 10).state in {DetachedState.ABSENT, DetachedState.SEALED}
        return
    entry = filled._root / NEW_ID
    durable = {"start": [filled._root, entry / "command.json"], "seal": [filled._root, entry / "decision", entry]}[name]
    assert waited == [path.stat().st_ino for path in durable]


def test_a_request_to_end_that_cannot_be_made_is_told(filled: CommandSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cancels must not believe that a running command will end."""
    (filled._root / DONE_ID / "exit.json").unlink()
    directory = os.open(filled._root / DONE_ID, os.O_RDONLY)
    alive = records.lock_alive(directory) or 0
    assert [filled.revoke(DONE_ID), filled.revoke(DONE_ID)] == [DetachedState.RUNNING] * 2, (
        "asked for twice is asked for"
    )
    (filled._root / DONE_ID / "revoked").unlink()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    try:
        for call, word in ((filled.cancel, "cancel"), (filled.revoke, "revoked")):
            with pytest.raises(SpoolError, match=f"cannot write {word} to .* hard links"):
                call(DONE_ID)
    finally:
        os.close(alive)
        os.close(directory)


def test_a_folder_that_was_deleted_holds_nothing(tmp_path: Path) -> None:
    """Somebody has tidied up: nothing runs there, and a seal makes it anew."""
    spool = CommandSpool(tmp_path / "spool", 1_000)
    name = spool.identity
    (spool._root / "identity").unlink()
    spool._root.rmdir()
    assert (spool.running(), spool.expire(0), spool.total_bytes()) == ([], 0, 0)
    assert spool.look(NEW_ID, 10).state is DetachedState.ABSENT
    assert spool.seal(NEW_ID) is DetachedState.SEALED
    assert spool.identity != name

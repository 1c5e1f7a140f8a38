"""What the system refuses becomes a SpoolError, wherever in a call it happens; what was there is there afterwards."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from neuraphage.errors import SpoolError
from neuraphage.ports import SpoolCommand, SpoolState
from neuraphage.spool import CommandSpool, records
from neuraphage.spool.entry import Entry

DONE_ID, SEALED_ID, LOST_ID, NEW_ID = ("d" * 32, "e" * 32, "f" * 32, "a" * 32)


def command(effect_id: str = NEW_ID) -> SpoolCommand:
    return SpoolCommand(effect_id=effect_id, argv=("true",), cwd="/", timeout_s=30.0, env={}, task_id="task")


def ended(entry: Path, reason: str = "exited", output: str = "words\n") -> None:
    """The entry of a command that is over."""
    entry.mkdir()
    facts = {"exit_code": 0, "reason": reason, "started_at": 1.0, "ended_at": 2.0, "duration_s": 1.0}
    (entry / "exit.json").write_bytes(orjson.dumps(facts))
    (entry / "output").write_text(output, encoding="utf-8")
    (entry / "decision").write_text("started", encoding="utf-8")
    (entry / "alive").write_text("runner 1 keeper 2", encoding="utf-8")


@pytest.fixture
def filled(tmp_path: Path) -> CommandSpool:
    """A spool with an entry of each kind that is over."""
    spool = CommandSpool(tmp_path / "spool", 1_000)
    ended(spool._root / DONE_ID)
    spool.seal(SEALED_ID)
    (spool._root / LOST_ID).mkdir()
    (spool._root / LOST_ID / "decision").write_text("started", encoding="utf-8")
    return spool


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
KINDS = {"done": SpoolState.DONE, "sealed": SpoolState.SEALED, "lost": SpoolState.LOST, "none": SpoolState.ABSENT}
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
    """Every look answers right or says what it lacks: never that nothing is there, or another error."""
    for name, call in CALLS.items():
        found = refusal(call, filled, count)
        assert found is ANSWERS[name] or (count < 3 and "Too many open files" in str(found)), name
    for name, call in WRITES.items():
        found = refusal(call, filled, count)
        assert isinstance(found, SpoolState) or len(str(found)) == 32 or "Too many open files" in str(found), name
    with files_left(0), pytest.raises(SpoolError):
        filled.expire(0)
    assert filled.look(DONE_ID, 100).output == "words\n"


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


def test_a_folder_that_was_deleted_holds_nothing(tmp_path: Path) -> None:
    """Somebody has tidied up: nothing runs there, and a seal makes it anew."""
    spool = CommandSpool(tmp_path / "spool", 1_000)
    name = spool.identity
    (spool._root / "identity").unlink()
    spool._root.rmdir()
    assert (spool.running(), spool.expire(0), spool.total_bytes()) == ([], 0, 0)
    assert spool.look(NEW_ID, 10).state is SpoolState.ABSENT
    assert spool.seal(NEW_ID) is SpoolState.SEALED
    assert spool.identity != name


def test_a_wait_outlasts_looks_that_fail_for_a_while(
    filled: CommandSpool, calm: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running command is not given up for one of them, and a spool that stays unreadable is told."""
    look, failures = filled.look, [SpoolError("no")] * 3

    def fails_first(effect_id: str, limit: int) -> object:
        if failures:
            raise failures.pop()
        return look(effect_id, limit)

    monkeypatch.setattr(filled, "look", fails_first)
    assert filled.wait(DONE_ID, 10, calm).state is SpoolState.DONE
    monkeypatch.setattr("neuraphage.spool.command_spool._UNREAD_LIMIT_S", 0.0)
    failures.extend([SpoolError("no"), SpoolError("gone for good")])
    with pytest.raises(SpoolError, match="gone for good"):
        filled.wait(DONE_ID, 10, calm)


def test_a_runner_that_never_answers_is_sealed(filled: CommandSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come to itself after the error was told, and then it must not run the command."""
    monkeypatch.setattr("neuraphage.spool.command_spool._START_LIMIT_S", 0.05)
    monkeypatch.setattr(filled, "_launch", lambda order, timeout_s: str(time.sleep(timeout_s) or ""))
    with pytest.raises(SpoolError, match="it was sealed"):
        filled.start(command())
    assert filled.look(NEW_ID, 10).state is SpoolState.SEALED


def test_who_started_a_command_is_told_so_however_short_it_was(
    filled: CommandSpool, monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """RUNNING means that this call started it: one that finds an ended command has not."""
    launch = filled._launch

    def slow(order: bytes, timeout_s: float) -> str:
        answer = launch(order, timeout_s)
        eventually(lambda: filled.look(NEW_ID, 10).state is SpoolState.DONE)
        return answer

    monkeypatch.setattr(filled, "_launch", slow)
    assert filled.start(command()) is SpoolState.RUNNING
    assert filled.start(command()) is SpoolState.DONE


def test_a_command_that_does_not_end_is_told_with_the_place_to_look(
    filled: CommandSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stuck in the kernel keeps nobody waiting for ever."""
    monkeypatch.setattr("neuraphage.spool.command_spool._CANCEL_LIMIT_S", 0.0)
    directory = os.open(filled._root / DONE_ID, os.O_RDONLY)
    alive = records.lock_alive(directory) or 0
    assert alive
    try:
        with pytest.raises(SpoolError, match=r"still lives.*/alive"):
            filled.cancel(DONE_ID)
    finally:
        os.close(alive)
        os.close(directory)


def test_what_is_over_is_read_once_and_forgotten_with_its_entry(
    filled: CommandSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spool of a day holds thousands; one that is started anew under the same id is a running one again."""
    (filled._root / NEW_ID).mkdir()
    assert filled.running() == []
    filled.start(replace(command(), argv=("sleep", "60")))
    assert filled.running() == [(NEW_ID, "task")]
    filled.cancel(NEW_ID)
    assert filled.running() == []
    looked: list[str] = []
    state = Entry.state
    monkeypatch.setattr(Entry, "state", lambda self: (looked.append(self.path.name), state(self))[1])
    assert filled.running() == []
    assert looked == []
    assert filled.expire(0) >= 3
    assert filled.running() == []
    filled.start(replace(command(DONE_ID), argv=("sleep", "60")))
    assert filled.running() == [(DONE_ID, "task")]
    filled.cancel(DONE_ID)


@pytest.mark.parametrize(
    ("reason", "redacts", "shown"),
    [("output_limit", True, "one"), ("output_limit", False, "one\ntw"), ("exited", True, "one\ntw")],
)
def test_only_a_redacted_output_that_was_cut_off_loses_its_end(
    tmp_path: Path, reason: str, redacts: bool, shown: str
) -> None:
    """Half of a secret is not known as one; where nothing is redacted or cut, nothing is dropped."""
    spool = CommandSpool(tmp_path / "spool", 1_000, redact=(lambda text: text) if redacts else None)
    ended(spool._root / DONE_ID, reason, "one\ntw")
    assert spool.look(DONE_ID, 100).output == shown

"""What an entry tells, and what is told of a start, a wait and a cancel that do not go as usual."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, launch, records
from neuraphage.spool.entry import Entry
from spoolkit import DONE_ID, NEW_ID, command, ended


@pytest.mark.parametrize(
    ("note", "task_id", "timeout_s"),
    [
        (b'{"task_id":"t","timeout_s":5.5}', "t", 5.5),
        (b'{"task_id":"t","timeout_s":5}', "t", 5),
        (b'{"task_id":5,"timeout_s":"5"}', "", None),
        (b"[]", "", None),
        (b"{", "", None),
    ],
)
def test_what_was_ordered_is_told_where_it_can_be_read(
    filled: CommandSpool, note: bytes, task_id: str, timeout_s: float | None
) -> None:
    """The note is for people; a torn one costs the outcome nothing."""
    (filled._root / DONE_ID / "command.json").write_bytes(note)
    assert filled.look(DONE_ID, 10).timeout_s == timeout_s
    assert Entry(filled._root / DONE_ID).task_id() == task_id


def test_guardians_are_told_as_far_as_they_have_said(filled: CommandSpool) -> None:
    """Two process ids, and what is no number is none."""
    entry = Entry(filled._root / DONE_ID)
    assert entry.guardians() == (1, 2)
    (entry.path / "alive").write_text("runner 41 keeper ² at 42x 43", encoding="utf-8")
    assert entry.guardians() == (41, 43)


def test_an_entry_that_is_gone_is_nothing(filled: CommandSpool) -> None:
    """Each question about it is answered as if it had never been."""
    entry = Entry(filled._root / NEW_ID)
    assert (entry.state(), entry.is_decided(), entry.is_alive()) == (DetachedState.ABSENT, False, False)
    assert (entry.exit_facts(), entry.since_start_s(), entry.task_id(), entry.output(10)) == (None, None, "", "")
    assert entry.guardians() == ()


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
    assert filled.wait(DONE_ID, 10, calm).state is DetachedState.DONE
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
    assert filled.look(NEW_ID, 10).state is DetachedState.SEALED


@pytest.mark.parametrize("left_s", [0.02, -1.0])
def test_nobody_waits_for_an_answer_past_its_time(left_s: float) -> None:
    """A runner may hang with its pipe open, and the time may be over before the first look."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        assert launch._read_answer(pipe, time.monotonic() + left_s) == ""
        os.write(writing, b"started\n")
        os.close(writing)
        assert launch._read_answer(pipe, time.monotonic() + 60) == "started"


def test_who_started_a_command_is_told_so_however_short_it_was(
    filled: CommandSpool, monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """RUNNING means that this call started it: one that finds an ended command has not."""
    start = filled._launch

    def slow(order: bytes, timeout_s: float) -> str:
        answer = start(order, timeout_s)
        eventually(lambda: filled.look(NEW_ID, 10).state is DetachedState.DONE)
        return answer

    monkeypatch.setattr(filled, "_launch", slow)
    assert filled.start(command()) is DetachedState.RUNNING
    assert filled.start(command()) is DetachedState.DONE


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
        assert filled.look(DONE_ID, 10).state is DetachedState.DONE, "what is told of its end stands"
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

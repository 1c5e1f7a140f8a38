"""Commands about locks: locks, locks break, and what why, list and events say of one that waits."""

from __future__ import annotations

from clikit import Bench, CommandLine
from lockkit import Holder, holder, holders
from neuraphage.model.task import Status

FILE = "file:/w/shop/basket.py"


def short(task_id: str) -> str:
    return task_id.rpartition("-")[2]


def two(bench: Bench) -> tuple[Holder, Holder]:
    """One that has the file, and one that waits for it."""
    return holder(bench.kit).takes(FILE), holder(bench.kit).waits(FILE)


def test_locks_shows_holders_and_those_who_wait(cli: CommandLine, bench: Bench) -> None:
    """In their order; without any it says so."""
    assert "no task holds a lock" in cli("locks").out
    one, other = two(bench)
    holder(bench.kit).waits(FILE, "file:/w/a")
    ran = cli("locks")
    assert f"why {short(one.id)}  # what it is at that others wait for" in ran.out + ran.err
    rows = [line for line in ran.out.splitlines() if FILE in line]
    assert [(short(row_id) in row, word in row) for row, row_id, word in zip(
        rows[:2], (one.id, other.id), ("holds", "waiting"), strict=True
    )] == [(True, True)] * 2  # fmt: skip


def test_a_lock_is_broken_for_the_next(cli: CommandLine, bench: Bench) -> None:
    """The holder is named; a second time there is nobody to take it from but the one that has it now."""
    one, other = two(bench)
    assert short(one.id) in cli("locks", "break", FILE).out
    assert (holders(bench.kit, FILE), bench.kit.status(other.id)) == ([other.id], Status.QUEUED)
    assert "by" in cli("events", one.id).out
    assert short(other.id) in cli("locks", "break", FILE).out


def test_one_that_nobody_has_is_not_broken(cli: CommandLine, bench: Bench) -> None:
    """Exit 2, and what to do instead."""
    ran = cli("locks", "break", "file:/nowhere")
    assert ran.code == 2
    assert "`neuraphage locks` lists what is held" in ran.err


def test_why_and_list_say_who_waits_for_whom(cli: CommandLine, bench: Bench) -> None:
    """By the resource and the task that has it, and until when the call waits."""
    one, other = two(bench)
    said = " ".join(cli("why", other.id).out.split())
    assert FILE in said
    assert short(one.id) in said
    assert "its call gets an error instead" in said
    listed = cli("list", "--blocked")
    assert f"{short(other.id)} waits for {short(one.id)}: {FILE}" in listed.out + listed.err
    assert f"waits for {FILE}" in cli("events", other.id).out

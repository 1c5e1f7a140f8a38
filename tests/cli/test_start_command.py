"""`submit --at`: what a person sees of a task that begins later."""

from __future__ import annotations

import pytest

from clikit import Bench, CommandLine

AT = "2100-01-01T00:00Z"


def test_a_task_that_begins_later_is_seen_with_its_time(cli: CommandLine, bench: Bench) -> None:
    """In list, why, show and the history; and it can be cancelled."""
    task_id = cli("submit", "Do it.", "--at", AT).out.strip()
    listed, why = cli("list"), cli("why", task_id)
    assert "Queued" in listed.out
    assert "starts at 2" in listed.err, listed.out
    assert "It starts at 2100-01-01 00:00:00 UTC; until then it holds no worker and no slot." in why.out
    assert "starts at 2100-01-01 00:00:00 UTC" in cli("events", task_id).out
    assert cli("show", task_id, "--json").json["starts_at_ms"] == 4_102_444_800_000
    assert cli("cancel", task_id).code == 0
    assert bench.kit.place(task_id) == ""


def test_one_that_waits_for_others_too_says_both(cli: CommandLine, bench: Bench) -> None:
    """Which tasks, and from when on."""
    first = cli("submit", "First.").out.strip()
    task_id = cli("submit", "Then.", "--after", first, "--at", AT).out.strip()
    assert "It starts at 2100-01-01 00:00:00 UTC at the earliest." in cli("why", task_id).out


@pytest.mark.parametrize(
    ("at", "said"),
    [("soon", "is no time; write 2026-12-24T09:00"), ("2001-01-01T00:00Z", "the server's clock has")],
)
def test_a_time_that_is_none_or_past_is_refused(cli: CommandLine, bench: Bench, at: str, said: str) -> None:
    """Exit code 2, and no task."""
    ran = cli("submit", "Do it.", "--at", at)
    assert (ran.code, said in " ".join(ran.err.split())) == (2, True), ran.err
    assert bench.client.list() == []


def test_a_limit_of_the_time_at_work(cli: CommandLine, bench: Bench) -> None:
    """Given, shown, raised, told; and what is no time is refused."""
    task_id = cli("submit", "Do it.", "--max-running-for", "30m").out.strip()
    assert "at work      0 s of 30 min\n" in cli("show", task_id).out
    assert "2 h at work" in cli("limit", task_id, "--max-running-for", "2h").out
    assert cli("show", task_id, "--json").json["limits"]["max_running_ms"] == 7_200_000
    assert "2 h at work" in cli("events", task_id).out
    for text in ("soon", "30", "9999d"):
        assert cli("submit", "x", "--max-running-for", text).code == 2, text
    assert len(bench.client.list()) == 1

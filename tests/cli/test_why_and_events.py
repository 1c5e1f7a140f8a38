"""What why and events write, and what show adds to them."""

from __future__ import annotations

import json
import re

from clikit import Bench, CommandLine
from neuraphage.model.message import Entry
from neuraphage.model.task import Status
from neuraphage.ports import Changes


def test_events_go_on_after_any_line(cli: CommandLine, bench: Bench) -> None:
    """The id of each line is what --after takes; nothing new says how to wait."""
    task_id = bench.kit.put(Status.COMPLETED)
    lines = cli("events", task_id).out.splitlines()
    assert [line.split()[4] for line in lines] == ["created:", "claimed", "completed:"]
    first = lines[0].split()[0]
    assert cli("events", task_id, "--after", first).out.splitlines() == lines[1:]
    followed = [json.loads(line) for line in cli("events", task_id, "--follow", "--json").out.splitlines()]
    assert [line["event"] for line in followed] == ["TaskCreated", "TaskStarted", "TaskCompleted"]
    nothing = cli("events", task_id, "--after", lines[-1].split()[0])
    assert (nothing.out, "--follow" in nothing.err) == ("", True)
    assert cli("events", task_id, "--after", "x").code == 2


def test_why_tells_what_comes_next(cli: CommandLine, bench: Bench) -> None:
    """Sentences, clocks, and each decision with what it was made from."""
    task_id, _ = bench.kit.running()
    bench.kit.expire_lease(task_id, ago_ms=-8_000)
    bench.kit.recover(task_id, "expired")
    said = " ".join(cli("why", task_id).out.split())
    assert f"{task_id}: Running, in leases It is held by" in said
    assert "next " in said
    assert "the second visit (in " in said
    assert "lease ends in " in said
    assert "suspect: Two heartbeats were missed." in said
    assert re.search(r"lease had [1-8](\.\d)? s left", said), said
    as_json = cli("why", task_id, "--json").json
    assert [decision["reading"]["verdict"] for decision in as_json["decisions"]] == ["suspect"]
    assert as_json["next"][-1]["in_ms"] > 0
    assert "none: neither sweep nor watcher" in cli("why", bench.kit.create()).out


def test_show_tells_the_last_messages_and_why_it_waits(cli: CommandLine, bench: Bench) -> None:
    """What was said, which call, what came of it; and what the task waits for."""
    task_id, lease = bench.kit.running()
    call = {"type": "tool_use", "id": "t1", "name": "run_command", "input": {"command": "make\ntest"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "no rule", "is_error": True}
    entries = (Entry(role="assistant", content=[call]), Entry(role="user", content=[result]))
    bench.kit.store.commit(lease, Changes(entries=entries))
    shown = cli("show", task_id).out
    assert "message      assistant: $ make (and 1 more line)" in shown
    assert "message      user: result (an error): no rule" in shown
    assert "why          It is worked on by" in shown
    assert "next         " in shown

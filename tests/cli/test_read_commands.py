"""What list, show, checkpoint, recover, health and version write: for people and as JSON."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.main import get_command

from clikit import EVENT_NAMES, Bench, CommandLine
from neuraphage import __version__
from neuraphage.cli.console import local_time, offset_here
from neuraphage.cli.main import app
from neuraphage.decide.superseding import superseding
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.health import HealthRecord
from neuraphage.model.message import Entry
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.health import health_folder
from neuraphage.runtime.host import host_id, this_process
from neuraphage.store import reports
from storekit import text_entry

COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]  # the app has commands, so it is a group
RECORD_NAMES = {
    "model",
    "spec", "status", "detail", "marker", "counters", "seq", "fence", "claim_id", "owner", "lease_until_ms", "place",
    "pause_requested", "cancel_requested", "prompts", "grants", "started_reason", "unsafe_until_ms", "saved_at_ms",
    "created_at_ms", "limits", "turns_from", "reserved_microusd", "shortage", "dependencies", "schema_version",
    "children", "below_microusd", "locks", "tree_turns", "starts_at_ms",
}  # fmt: skip
STEERING = "\x1b[31mred\x9b2J\x07\x7f\u202e[bold]:smile:\rline\u2028"
CONTROLS = set(map(chr, [*range(32), *range(127, 160), 0x202E, 0x2028])) - {"\n"}


@pytest.fixture
def zone_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Moves this process to another zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_one_example(cli: CommandLine, command: str) -> None:
    """Every command shows how it is called, in 80 columns."""
    ran = cli(command, "--help")
    assert ran.code == 0
    assert ran.out.count("Example: neuraphage ") == 1
    assert f"Example: neuraphage {command}" in ran.out


@pytest.mark.parametrize("group", [[], ["config"]])
def test_the_overview_cuts_no_sentence(cli: CommandLine, group: list[str]) -> None:
    """The line about each command is whole."""
    assert "..." not in cli(*group, "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_version(cli: CommandLine, arguments: list[str]) -> None:
    """Both ways of asking give the same answer."""
    assert cli(*arguments).out == f"neuraphage {__version__}\n"
    assert cli("version", "--json").json == {"version": __version__}


def test_list_as_json_has_stable_names(cli: CommandLine, bench: Bench) -> None:
    """Programs read the stored names, newest task first."""
    bench.kit.create()
    newest = bench.client.submit("the newest")
    found = cli("list", "--json").json
    assert [set(record) for record in found] == [RECORD_NAMES, RECORD_NAMES]
    assert found[0]["spec"]["task_id"] == newest
    assert cli("list", "--json", "--limit", "1").json == found[:1]


@pytest.mark.parametrize(("zone", "offset", "hour"), [("UTC", "+0000", "23"), ("Asia/Kathmandu", "+0545", "04")])
def test_times_are_local_and_say_so(
    cli: CommandLine, bench: Bench, zone_of: Callable[[str], None], zone: str, offset: str, hour: str
) -> None:
    """Stored in UTC, shown in the zone of who looks, with its offset."""
    zone_of(zone)
    task_id = bench.kit.create()
    stored = bench.client.get(task_id)
    assert cli("show", task_id, "--json").json["created_at_ms"] == stored.created_at_ms
    head, line = cli("list").out.splitlines()
    assert f"created {offset}" in head
    there = datetime.fromtimestamp(stored.created_at_ms / 1000, ZoneInfo(zone))
    assert f"{there:%Y-%m-%d %H:%M}" in line
    for command in ("show", "events", "checkpoint"):
        assert re.search(rf"\d\d:\d\d:\d\d {re.escape(offset)}", cli(command, task_id).out)
    assert f"{hour}:" in local_time(1_782_860_400_000)  # 2026-06-30, 23 o'clock in UTC


def test_list_of_some_statuses(cli: CommandLine, bench: Bench) -> None:
    """A status that no task has gives an empty list, not all."""
    waiting = bench.kit.put(Status.WAITING_FOR_USER)
    bench.kit.create()
    found = cli("list", "--json", "--status", "waitingforuser", "--status", "Paused").json
    assert [record["spec"]["task_id"] for record in found] == [waiting]
    assert cli("list", "--json", "--status", "Paused").json == []
    assert "no tasks" in cli("list", "--status", "Paused").err


def test_list_in_a_pipe_cuts_nothing(cli: CommandLine, bench: Bench) -> None:
    """One line a task, with an id that every command takes and the whole name."""
    name = "a name of seventy characters, which would not fit into eighty columns."
    task_id = bench.client.submit("x", name=name)
    head, line = cli("list").out.splitlines()
    assert head.split() == ["task", "status", "turns", "cost", "created", offset_here(), "name"]
    assert line.endswith(name)
    assert bench.client.find(line.split()[0]) == task_id


def test_text_from_outside_steers_no_terminal(cli: CommandLine, bench: Bench) -> None:
    """Names, errors, prompts and messages of models and tools are shown, their control codes and markup are not."""
    task_id = bench.client.submit(STEERING, name=STEERING)
    lease = bench.kit.claim(task_id)
    bench.kit.finish(lease, FinishTo.FAILED, error=STEERING, recoverable=True)
    prompt = Prompt(
        prompt_id="p", kind=PromptKind.PERMISSION, text=STEERING, options=PERMISSION_OPTIONS, params_summary=STEERING
    )
    waiting = bench.kit.waiting(prompt)
    seen = [
        cli("list").out.replace("\t", " "),  # ours, between the columns
        *(cli(command, id_).out for command in ("show", "attach") for id_ in (task_id, waiting)),
        cli("answer", waiting, "p", STEERING).err,
        cli("show", STEERING).err,
    ]
    for text in seen:
        assert not CONTROLS & set(text)
        assert "[bold]:smile:" in text
    for as_json in (cli("list", "--json"), cli("show", task_id, "--json"), cli("attach", task_id, "--json")):
        assert not CONTROLS & set(as_json.out)
    assert cli("show", task_id, "--json").json["spec"]["name"] == STEERING


def test_show_tells_where_the_task_stands(cli: CommandLine, bench: Bench) -> None:
    """Status, journal, the open prompt, and the command that answers it."""
    task_id, lease = bench.kit.running()
    entry = ToolEffect(key="t1", state=EffectState.STARTED, tool="run_command")
    bench.kit.store.commit(lease, Changes(journal=(entry,), entries=(text_entry("and now?"),)))
    shown = cli("show", task_id).out
    assert "Running, in leases" in shown
    assert "run_command started (t1)" in shown
    as_json = cli("show", task_id, "--json").json
    assert set(as_json) == RECORD_NAMES | {"journal", "last_messages", "decisions"}
    assert as_json["journal"]["t1"]["state"] == "started"
    assert as_json["last_messages"][-1]["content"][0]["text"] == "and now?"


def test_show_marks_what_is_superseded(cli: CommandLine, bench: Bench) -> None:
    """In every form: it stays stored, and the model is not shown it."""
    task_id, lease = bench.kit.running()
    replies = tuple(
        Entry(role="assistant", content=[{"type": "text", "text": text}]) for text in ("Hm.", "The other answer.")
    )
    entries = (text_entry("and now?"), replies[0], superseding(2, 1), replies[1])
    bench.kit.store.commit(lease, Changes(entries=entries))
    for shown in (cli("show", task_id).out, cli("show", task_id, "--full").out):
        assert "assistant (superseded):" in shown
        assert shown.count("superseded") == 1
        assert "assistant: The other" in shown or "assistant:\n  The other" in shown
    for more in ((), ("--full",)):
        last = cli("show", task_id, "--json", *more).json["last_messages"]
        assert [entry["superseded"] for entry in last][-4:] == [False, True, False, False]
        assert last[-2]["supersedes"] == 2
    bench.kit.store.commit(replace(lease, token=1), Changes(entries=tuple(map(text_entry, "abcd"))))
    assert [entry["superseded"] for entry in cli("show", task_id, "--json").json["last_messages"]] == [False] * 4


def test_show_names_the_command_that_answers(cli: CommandLine, bench: Bench) -> None:
    """The line can be copied, and gives no answer by itself. With two prompts each line names its own."""
    prompt = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="May a run?", options=PERMISSION_OPTIONS)
    task_id = bench.kit.waiting(prompt)
    ran = cli("show", task_id)
    assert ran.out.splitlines()[-2:] == ["? May a run? (yes/no/always/never)", "  prompt p1"]
    (line,) = ran.err.splitlines()
    _, _, named, asked, answer = line.split()
    assert (asked, answer) == ("p1", "ANSWER")
    assert cli("answer", named, asked, "y").code == 0
    two = bench.kit.waiting(prompt, prompt.model_copy(update={"prompt_id": "p2"}))
    ran = cli("show", two)
    assert [f" {one} ANSWER" in ran.err for one in ("p1", "p2")] == [True, True]
    assert "neuraphage answer" not in ran.out
    assert cli("answer", two, "yes").code == 2
    assert cli("answer", two, "yes", "--prompt", "p2").code == 0


@pytest.mark.parametrize(
    ("status", "words"), [(Status.COMPLETED, "Done."), (Status.FAILED, "No."), (Status.CANCELLED, "Cancelled")]
)
def test_show_tells_how_it_ended(cli: CommandLine, bench: Bench, status: Status, words: str) -> None:
    """Summary or error of a task that is over."""
    assert words in cli("show", bench.kit.put(status)).out


def test_show_tells_of_recoveries(cli: CommandLine, bench: Bench) -> None:
    """What was decided when its worker was gone, and why."""
    task_id, _ = bench.kit.running()
    bench.kit.recover(task_id)
    line = next(one for one in cli("show", task_id).out.splitlines() if one.startswith("decision "))
    assert "recovered: " in line
    assert cli("show", task_id, "--json").json["decisions"][0]["reading"]["evidence"] == "gone"


def test_checkpoint(cli: CommandLine, bench: Bench) -> None:
    """The marker to go on from, and when it was saved."""
    task_id = bench.kit.create()
    assert "task_created, turn 1, saved " in cli("checkpoint", task_id).out
    assert set(cli("checkpoint", task_id, "--json").json) == {
        "task_id", "status", "marker", "saved_at_ms", "lease_until_ms", "iteration", "turn",
    }  # fmt: skip


def test_recovery_report(cli: CommandLine, bench: Bench) -> None:
    """Nothing yet, then what the last sweep decided, and why."""
    assert cli("recover", "--json").json is None
    assert "nothing has been recovered yet" in cli("recover").out
    reading = RecoveryDecision(
        task_id="task-0-abc", verdict="recovered", marker="tool_started", iteration=3, reason="It goes on."
    )
    reports.save_report(bench.kit.store.context, RecoveryReport(swept_at_ms=1_000, resumable=(reading,)))
    assert "resumable  abc  recovered: It goes on. (turn 4, tool_started)" in cli("recover").out
    assert cli("recover", "--json").json["resumable"][0]["reason"] == "It goes on."


def test_the_report_has_every_recovery_whoever_made_it(cli: CommandLine, bench: Bench) -> None:
    """What people order with `recover` stands beside what sweep and watchers did; a dry run and a refusal do not."""
    taken, _ = bench.kit.running()
    bench.kit.recover(taken)
    paused, failed, other = bench.kit.put(Status.PAUSED), bench.kit.put(Status.FAILED), bench.kit.put(Status.FAILED)
    for words in (("--resume", paused), ("--reset", failed), ("--resume", other), ("--resume", bench.kit.create())):
        cli("recover", *words, "--dry-run")
        cli("recover", *words)
    report = cli("recover", "--json").json
    told = [row for group in report.values() if isinstance(group, list) for row in group]
    by_person = {row["task_id"]: (row["verdict"], row["marker"]) for row in told if row["evidence"] == "person"}
    marker = "task_created"
    assert by_person == {paused: ("resume", marker), failed: ("reset", marker), other: ("retry", marker)}
    assert [row["task_id"] for row in told if row["evidence"] == "gone"] == [taken]
    shown = cli("recover").out
    assert "a person gave the command to retry it; it was Failed" in shown
    assert len(shown.splitlines()) >= 1 + len(told)


def test_recover_puts_tasks_back_to_work(cli: CommandLine, bench: Bench) -> None:
    """A dry run says what the real one does, and changes nothing."""
    paused, failed = bench.kit.put(Status.PAUSED), bench.kit.put(Status.FAILED)
    assert cli("recover", "--resume", paused, "--dry-run").out == f"would resume {paused}\n"
    assert cli("recover", "--all-reset", "--dry-run").out == f"would reset {failed}\n"
    assert (bench.kit.status(paused), bench.kit.status(failed)) == (Status.PAUSED, Status.FAILED)
    assert cli("recover", "--resume", paused, "--json").json == [
        {"task_id": paused, "action": "resume", "dry_run": False}
    ]
    assert cli("recover", "--all-reset").out == f"reset {failed}\n"
    assert (bench.kit.status(paused), bench.kit.status(failed)) == (Status.QUEUED, Status.QUEUED)


def test_all_reset_leaves_hopeless_failures(cli: CommandLine, bench: Bench) -> None:
    """A failure that a repeat cannot help is reset only by name, and never retried."""
    task_id, lease = bench.kit.running()
    bench.kit.finish(lease, FinishTo.FAILED, error="No.", recoverable=False)
    assert "no failed task can be reset" in cli("recover", "--all-reset").out
    for options in (("--dry-run",), ()):
        refused = cli("recover", "--resume", task_id, *options)
        assert (refused.code, refused.out) == (2, "")
    assert bench.kit.status(task_id) is Status.FAILED
    assert cli("recover", "--reset", task_id).out == f"reset {task_id}\n"
    assert bench.kit.status(task_id) is Status.QUEUED


def test_recover_retries_a_failed_task(cli: CommandLine, bench: Bench) -> None:
    """--resume of a failed task goes on where it stopped."""
    failed = bench.kit.put(Status.FAILED)
    assert cli("recover", "--resume", failed).out == f"retry {failed}\n"
    assert bench.kit.status(failed) is Status.QUEUED


def test_signals(cli: CommandLine, bench: Bench) -> None:
    """pause, resume, send and cancel reach the store."""
    task_id = bench.kit.create()
    assert cli("pause", task_id).code == 0
    assert bench.kit.status(task_id) is Status.PAUSED
    assert cli("resume", task_id).code == 0
    assert cli("send", task_id, "hello").code == 0
    assert len(bench.kit.inbox(task_id)) == 1
    assert cli("cancel", task_id, "--reason", "enough").code == 0
    assert bench.kit.status(task_id) is Status.CANCELLED
    assert "enough" in cli("show", task_id).out


def test_submit_is_idempotent_by_key(cli: CommandLine, bench: Bench) -> None:
    """A repeat prints the first task's id."""
    first, again = cli("submit", "x", "--key", "k"), cli("submit", "x", "--key", "k")
    assert first.code == 0
    assert first.out == again.out
    assert len(bench.client.list()) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.COMPLETED, 0),
        (Status.FAILED, 1),
        (Status.CANCELLED, 1),
        (Status.WAITING_FOR_USER, 3),
        (Status.PAUSED, 3),
    ],
)
def test_attach_ends_where_the_task_rests(cli: CommandLine, bench: Bench, status: Status, code: int) -> None:
    """Its exit code says how; with --json every line is one document."""
    task_id = bench.kit.put(status)
    assert cli("attach", task_id).code == code
    ran = cli("attach", task_id, "--json")
    assert ran.code == code
    first, *lines, last = [json.loads(line) for line in ran.out.splitlines()]
    assert first == {"task_id": task_id, "task": task_id}
    assert [set(line) for line in lines] == [EVENT_NAMES] * len(lines)
    assert lines[0]["event"] == "TaskCreated"
    assert (last["task_id"], last["task"], last["status"]) == (task_id, task_id, status.value)


def write_health(folder: Path, **changes: Any) -> None:
    """Write down that this very process is a healthy worker, but for the changes."""
    me, now_s = this_process(), SystemClock().boottime_s()
    healthy = HealthRecord(
        host=host_id(), pid=me.pid, start_time=me.start_time, name="worker@here", period_s=5.0, at_s=now_s,
        stored_at_s=now_s, consuming=True,
    )  # fmt: skip
    folder.mkdir(parents=True)
    (folder / f"{me.pid}.json").write_text(json.dumps(asdict(replace(healthy, **changes))), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "live", "ready"),
    [({}, 0, 0), ({"consuming": False}, 0, 1), ({"stored_at_s": 0.0}, 0, 1), ({"at_s": 0.0}, 1, 1)],
)
def test_health(cli: CommandLine, tmp_path: Path, changes: dict[str, Any], live: int, ready: int) -> None:
    """Live: the workers answer. Ready: they can also claim. No server is asked."""
    write_health(health_folder(tmp_path / "data", "default"), **changes)
    assert cli("health", "--live").code == live
    assert cli("health", "--ready").code == ready
    ran = cli("health", "--json")
    assert ran.code == ready
    assert (ran.json["live"], ran.json["ready"]) == (live == 0, ready == 0)
    assert ran.json["processes"][0]["name"] == "worker@here"
    assert bool(ran.json["processes"][0]["problems"]) is bool(ready)
    assert "worker@here" in cli("health").out


def test_health_without_workers(cli: CommandLine) -> None:
    """Nobody is there to claim a task, and that is said."""
    ran = cli("health", "--live")
    assert ran.code == 1
    assert "no worker process" in ran.err
    assert "`neuraphage dev`" in ran.err
    assert cli("health", "--json").json == {"live": False, "ready": False, "processes": [], "warnings": []}


def test_every_reading_command_has_json() -> None:
    """Programs never have to read text."""
    group = get_command(app)
    reading = {
        "admission",
        "locks",
        "list",
        "cost",
        "pools",
        "show",
        "run",
        "attach",
        "recover",
        "checkpoint",
        "health",
        "version",
        "events",
        "why",
        "context",
        "capacity",
        "where",
        "doctor",
        "tree",
        "submit",
        "env",
        "repair",
        "inbox",
        "trust",
    }
    with_json = {
        name
        for name, command in group.commands.items()  # type: ignore[attr-defined]  # as above
        if any("--json" in option.opts for option in command.params)
    }
    assert with_json == reading

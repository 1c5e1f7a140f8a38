"""The names of JSON output are frozen: docs/json.md lists them, and every command writes exactly those."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clikit import Bench, CommandLine
from lockkit import holder
from neuraphage.decide.superseding import superseding
from neuraphage.model.capacity import CallShare, CapacityReason, LearnedLimits, ModelLimits
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.model.task import Status
from neuraphage.ports import Changes
from neuraphage.store import reports
from source_tree import ROOT
from storekit import text_entry

PAGE = ROOT / "docs" / "json.md"
FREE = frozenset({"data", "grants", "labels", "content", "params", "parameters", "traits"})
"""Objects whose names are those of events, tools or the model's API."""
PROMPT = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Every name in a document, with dots; list items as [], journal keys as *."""
    if isinstance(value, list):
        for item in value:
            yield from paths(item, f"{prefix}[]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            path = f"{prefix}.{'*' if prefix.endswith('journal') else name}".lstrip(".")
            yield path
            if name not in FREE:
                yield from paths(inner, path)


def documented(section: str) -> set[str]:
    """Names of one section of the page; a section may say that it has those of others too."""
    text = PAGE.read_text(encoding="utf-8")
    body = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert body, section
    found = set(re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE))
    for other in re.findall(r"^All names of \[([^\]]+)\]", body, re.MULTILINE):
        found |= documented(other)
    return found


@pytest.fixture
def every_record(bench: Bench) -> list[str]:
    """A task in each status, with journal, prompt and decisions."""
    ids = [bench.kit.put(status) for status in Status if status is not Status.WAITING_FOR_USER]
    ids.append(bench.kit.waiting(PROMPT))
    ids.append(bench.client.submit("x", working_dir="/w", tags=["t"], allow=["edit"]))
    task_id, lease = bench.kit.running()
    entry = ToolEffect(key="t1", state=EffectState.STARTED, tool="edit")
    reply = text_entry("hello").model_copy(update={"role": "assistant", "first_token_ms": 812, "total_ms": 4_230})
    bench.kit.store.commit(lease, Changes(journal=(entry,), entries=(reply, superseding(1, 0))))
    recovered, _ = bench.kit.running()
    bench.kit.recover(recovered)
    bench.client.set_model(ids[0], "expert")
    holder(bench.kit).takes("file:/w/a")
    ids.append(holder(bench.kit).waits("file:/w/a").id)
    bench.client.submit("y", parent=ids[0])
    return [*ids, task_id, recovered, bench.kit.after(ids[0])]


def test_batch(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """submit --from: one report."""
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"prompt": "a", "key": "k"}\n{"prompt": " "}', encoding="utf-8")
    report = cli("submit", "--from", str(file), "--json").json
    assert [*report.pop("task_ids")] == ["k"]
    assert set(paths(report)) | {"task_ids"} == documented("submit --from")
    assert len(bench.client.list()) == 1


def test_tree(cli: CommandLine, bench: Bench) -> None:
    """tree: what it waits for, and what waits for it."""
    first = bench.kit.create()
    middle = bench.kit.after(first)
    bench.kit.after(middle)
    bench.client.submit("A part.", parent=middle)
    assert set(paths(cli("tree", middle, "--json").json)) == documented("tree")


def test_records(cli: CommandLine, every_record: list[str]) -> None:
    """list and show."""
    listed = set(paths(cli("list", "--json").json))
    assert {path.removeprefix("[].") for path in listed} == documented("list")
    shown = {path for task_id in every_record for path in paths(cli("show", task_id, "--json").json)}
    assert shown == documented("show")
    words = "the last one began after 0.8 s and was whole after 4.2 s"
    assert [words in cli("show", task_id).out for task_id in every_record[-3:-1]] == [True, False]


def test_context(cli: CommandLine, every_record: list[str]) -> None:
    """context."""
    seen = {path for task_id in every_record for path in paths(cli("context", task_id, "--json").json)}
    optional = {path for path in documented("context") if path.startswith(("biggest", "compactions"))}
    assert seen | optional == documented("context")


def test_why(cli: CommandLine, every_record: list[str]) -> None:
    """why."""
    assert {p for task_id in every_record for p in paths(cli("why", task_id, "--json").json)} == documented("why")


def test_inbox(cli: CommandLine, every_record: list[str]) -> None:
    """What all tasks ask."""
    assert set(paths(cli("inbox", "--json").json)) == documented("inbox")


def test_checkpoint_and_version(cli: CommandLine, every_record: list[str]) -> None:
    """The marker has only those of its names that hold a value."""
    seen = {path for task_id in every_record[:3] for path in paths(cli("checkpoint", task_id, "--json").json)}
    assert seen <= documented("checkpoint")
    assert {path for path in documented("checkpoint") if not path.startswith("marker.")} <= seen
    assert set(paths(cli("version", "--json").json)) == documented("version")


def test_submit_and_env(cli: CommandLine, bench: Bench) -> None:
    """What a script keeps of a task, and what leads a program to the servers."""
    made = cli("submit", "x", "--json").json
    assert set(made) == documented("submit")
    assert bench.client.get(made["task_id"]).spec.prompt == "x"
    assert made["task"] == made["task_id"]
    assert set(cli("env", "--json").json) == documented("env")


def test_money(cli: CommandLine, bench: Bench) -> None:
    """cost and pools."""
    _, lease = bench.kit.running()
    bench.kit.store.commit(lease, Changes(add={"cost_microusd": 5}, spent={"m": {"cost_microusd": 5}}))
    assert set(paths(cli("cost", "--by", "model", "--json").json)) == documented("cost")
    listed = {path.removeprefix("[].") for path in paths(cli("pools", "--json").json)}
    assert listed == documented("pools")


def test_schedules(cli: CommandLine, bench: Bench) -> None:
    """schedules: each with what its tasks are made of, which has the names of a task's own."""
    added = cli("schedules", "add", "nightly", "30 2 * * *", "x", "--json").json
    shown = [name for name in paths(added) if not name.startswith("definition.spec.")]
    assert set(shown) == documented("schedules")
    assert cli("schedules", "list", "--json").json == [cli("schedules", "show", "nightly", "--json").json] == [added]


def test_admission(cli: CommandLine, bench: Bench) -> None:
    """admission: slots and the line; people are told the same."""
    assert cli("admission").out.startswith("nothing limits")
    limited = bench.kit.under(max_running=1, label_max_running=["repo=web 1"])
    limited.store.adjust()
    limited.create()
    waiting = limited.create()
    assert set(paths(cli("admission", "--json").json)) | {"parts[].pools[]"} >= documented("admission")
    shown = cli("admission").out
    assert "all tasks" in shown
    assert "repo=web" in shown
    assert "number 1 of 1 with priority 2" in cli("list").err
    assert "1 tasks are at work, and 1 may be (max_running)" in cli("why", waiting).out


def test_locks(cli: CommandLine, bench: Bench) -> None:
    """locks: a list of resources."""
    holder(bench.kit).takes("file:/w/a")
    holder(bench.kit).waits("file:/w/a")
    assert {path.removeprefix("[].") for path in paths(cli("locks", "--json").json)} == documented("locks")


@pytest.mark.parametrize("command", ["events", "attach"])
def test_lines(cli: CommandLine, every_record: list[str], command: str) -> None:
    """One document a line."""
    seen = {
        path
        for task_id in every_record
        if command == "events" or task_id in every_record[3:8]  # attach waits for the others
        for line in cli(command, task_id, "--json").out.splitlines()
        for path in paths(json.loads(line))
    }
    assert documented("events") <= seen
    assert seen <= documented("attach and run")


def test_recover(cli: CommandLine, bench: Bench) -> None:
    """The report, and what was done."""
    decision = RecoveryDecision(task_id="t", verdict="failed")
    lists = ("resumable", "requeued", "failed", "paused", "suspect", "other")
    report = RecoveryReport(swept_at_ms=1, **dict.fromkeys(lists, (decision,)))
    reports.save_report(bench.kit.store.context, report)
    assert set(paths(cli("recover", "--json").json)) == documented("recover")
    paused = bench.kit.put(Status.PAUSED)
    done = cli("recover", "--resume", paused, "--dry-run", "--json").json
    assert {path.removeprefix("[].") for path in paths(done)} == documented("recover --resume, --reset, --all-reset")


def test_capacity(cli: CommandLine, bench: Bench) -> None:
    """capacity; without anything that limits calls an empty list."""
    assert cli("capacity", "--json").json == []
    assert "nothing is known to limit calls" in cli("capacity").out
    bench.kit.store.cool_model("pool:claude-sonnet", CapacityReason.OVERLOADED, 600.0)
    bench.kit.store.learn_limits("pool:claude-haiku", LearnedLimits(requests=50))
    limits, share = ModelLimits(requests=1), CallShare(ticket="0", input_tokens=1, output_tokens=1)
    bench.kit.store.admit_call("pool:claude-opus", "a", priority=2, limits=limits, share=share)
    found = cli("capacity", "--json").json
    assert set(paths(found)) == documented("capacity")
    assert [gate["family"] for gate in found] == ["claude-haiku", "claude-opus", "claude-sonnet"]
    shown = cli("capacity").out
    assert "learned: the provider allows 50 calls" in shown
    assert "1 of 1 calls used within 60 s (100 %)" in shown


def test_health(cli: CommandLine, tmp_path: Path) -> None:
    """health, with and without workers."""
    seen = set(paths(cli("health", "--json").json))
    assert seen <= documented("health")
    assert {"live", "ready", "processes"} <= seen


@pytest.mark.parametrize("command", ["where", "config keys"])
def test_lists_about_the_installation(cli: CommandLine, command: str) -> None:
    """where and config keys."""
    names = {path.removeprefix("[].") for path in paths(cli(*command.split(), "--json").json)}
    assert names == documented(command)


def test_doctor_and_config_show(cli: CommandLine) -> None:
    """The findings, and each setting with its origin."""
    assert set(paths(cli("doctor", "--json").json)) == documented("doctor")
    shown = cli("config", "show", "--json").json
    assert {f"*.{name}" for setting in shown.values() for name in setting} == documented("config show")


def test_repair(cli: CommandLine, bench: Bench) -> None:
    """What was found, and what was done."""
    bench.kit.client.zrem(bench.kit.keys.ids, bench.kit.create())
    assert set(paths(cli("repair", "--dry-run", "--json").json)) == documented("repair")
    cli("repair")


def test_each_name_is_explained() -> None:
    """A name without a meaning is no documentation."""
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 100
    assert [name for name, meaning in rows if len(meaning.strip()) < 3] == []


def test_tools(cli: CommandLine) -> None:
    """list, show and check."""
    listed = cli("tools", "list", "--tool", "nowhere:tool", "--json").json
    assert set(paths(listed)) == documented("tools list")
    assert set(paths(cli("tools", "show", "edit", "--json").json)) == {
        name.removeprefix("tools[].") for name in documented("tools list") if name.startswith("tools[].")
    }
    assert set(paths(cli("tools", "check", "edit", "--json").json)) == documented("tools check")


def test_rules(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """list and explain."""
    monkeypatch.setenv("NEURAPHAGE_RULES", "deny run_command: x *")
    listed = {path.removeprefix("[].") for path in paths(cli("rules", "list", "--json").json)}
    assert listed == documented("rules list")
    explained = {
        path.split(".")[0].removesuffix("[]")
        for path in paths(cli("rules", "explain", "run_command: x", "--json").json)
    }
    assert explained == documented("rules explain")


def test_trust(cli: CommandLine, tmp_path: Path) -> None:
    """--list."""
    (tmp_path / "neuraphage.toml").write_text("rules = ['ask edit']\n", encoding="utf-8")
    assert cli("trust", str(tmp_path)).code == 0
    listed = {path.removeprefix("[].") for path in paths(cli("trust", "--list", "--json").json)}
    assert listed == documented("trust --list")

"""`submit`: each option reaches the task, and `--follow` shows it as `attach` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clikit import Bench, CommandLine
from mediakit import png
from neuraphage.cli.resuming import ResumeInput, resumed
from neuraphage.decide.attachments import label
from neuraphage.model.task import Status
from neuraphage.store.encode import inbox_item

PLAIN: dict[str, Any] = {
    "name": "Do it.",
    "tags": [],
    "priority": 2,
    "system": "",
    "on_unknown_outcome": "tell_model",
    "mode": "autonomous",
    "allow": [],
    "working_dir": None,
    "limits": {"max_turns": 50, "max_cost_microusd": 10_000_000, "max_tree_turns": None, "max_running_ms": None},
    "permission_timeout_s": 300.0,
}
"""What a task is that is given nothing but a prompt."""
OPTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["--name", "The roof"], {"name": "The roof"}),
    (["--tag", "red", "--tag", "new"], {"tags": ["red", "new"]}),
    (["--priority", "0"], {"priority": 0}),
    (["--at", "2100-01-01T01:00+01:00"], {"starts_at_ms": 4_102_444_800_000}),
    (["--system", "Be brief."], {"system": "Be brief."}),
    (["--on-unknown-outcome", "ask_user"], {"on_unknown_outcome": "ask_user"}),
    (["--mode", "conversational"], {"mode": "conversational"}),
    (["--allow", "edit", "--allow", "run_command"], {"allow": ["edit", "run_command"]}),
    (["--model", "claude-opus-5-5"], {"model": "claude-opus-5-5"}),
    (
        ["--model", "expert", "--extra", '{"seed": 1}'],
        {"model": "claude-opus-5-5", "tier": "expert", "fallbacks": [], "extra": {"seed": 1}},
    ),
    (["--model", "openai:llama3:8b"], {"model": "openai:llama3:8b", "tier": None}),
    (
        ["--max-turns", "7"],
        {"limits": {"max_turns": 7, "max_cost_microusd": 10_000_000, "max_tree_turns": None, "max_running_ms": None}},
    ),
    (
        ["--max-tree-turns", "9"],
        {"limits": {"max_turns": 50, "max_cost_microusd": 10_000_000, "max_tree_turns": 9, "max_running_ms": None}},
    ),
    (["--permission-timeout", "2.5"], {"permission_timeout_s": 2.5}),
    (["--permission-timeout", "none"], {"permission_timeout_s": None}),
    (
        ["--max-cost", "0.25"],
        {"limits": {"max_turns": 50, "max_cost_microusd": 250_000, "max_tree_turns": None, "max_running_ms": None}},
    ),
]


def spec_of(cli: CommandLine, *options: str) -> dict[str, Any]:
    """What a task was asked to do that is submitted with these options."""
    ran = cli("submit", "Do it.", *options)
    assert ran.code == 0, ran.err
    spec: dict[str, Any] = cli("show", ran.out.strip(), "--json").json["spec"]
    return spec


@pytest.mark.parametrize(("options", "wanted"), OPTIONS, ids=lambda one: one[0] if isinstance(one, list) else "")
def test_each_option_reaches_the_task(
    cli: CommandLine, bench: Bench, options: list[str], wanted: dict[str, Any]
) -> None:
    """And changes nothing else of it."""
    model = bench.client.settings.default_model
    spec = spec_of(cli, *options)
    expected = {"prompt": "Do it.", "model": model} | PLAIN | wanted
    assert {name: spec[name] for name in expected} == expected


def test_all_options_together(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """None takes the place of another one; a repeat under the same key finds the first task."""
    given = [word for options, _ in OPTIONS for word in options]
    options = [*given, "--dir", str(tmp_path), "--force", "--key", "once"]
    spec = spec_of(cli, *options)
    wanted = {name: value for _, row in OPTIONS for name, value in row.items()}
    wanted |= {
        "working_dir": str(tmp_path),
        "limits": {"max_turns": 7, "max_cost_microusd": 250_000, "max_tree_turns": 9, "max_running_ms": None},
    }
    assert {name: spec[name] for name in wanted} == wanted
    assert spec_of(cli, *options)["task_id"] == spec["task_id"]
    assert len(bench.client.list()) == 1


CODES = {
    Status.COMPLETED: 0,
    Status.FAILED: 1,
    Status.CANCELLED: 1,
    Status.WAITING_FOR_USER: 3,
    Status.PAUSED: 3,
}


@pytest.mark.parametrize(("status", "code"), CODES.items())
def test_it_is_followed_as_attach_does(cli: CommandLine, bench: Bench, status: Status, code: int) -> None:
    """The id first, then the very lines of `attach`, and its exit code; with --json the very documents."""
    task_id = bench.kit.put(status)
    again = ("submit", "x", "--key", f"key-{task_id}")  # finds the task that is there
    followed = cli(*again, "--follow")
    attached = cli("attach", task_id)
    assert (followed.code, attached.code) == (code, code), followed.err
    assert followed.out == f"{task_id}\n{attached.out}"
    lines = [json.loads(line) for line in cli(*again, "-f", "--json").out.splitlines()]
    assert lines == [json.loads(line) for line in cli("attach", task_id, "--json").out.splitlines()]
    assert (lines[0]["task_id"], lines[-1]["status"]) == (task_id, status.value)


def test_another_model(cli: CommandLine, bench: Bench) -> None:
    """By a tier or an id; it is told, and stands in the history with the reason. The spec keeps what was asked for."""
    task_id = cli("submit", "Do it.").out.strip()
    ran = cli("model", task_id, "expert", "--reason", "it goes round in circles")
    assert (ran.code, ran.out) == (0, "calls claude-opus-5-5\n"), ran.err
    record = cli("show", task_id, "--json").json
    assert record["model"]["tier"] == "expert"
    assert record["spec"]["model"] == "claude-sonnet-5-5"
    assert "calls claude-opus-5-5 from now on, by" in cli("events", task_id).out
    assert "it goes round in circles" in cli("events", task_id).out
    assert "model        claude-opus-5-5, of the tier expert\n" in cli("show", task_id).out
    assert cli("model", task_id, "openai:qwen3").out == "calls openai:qwen3\n"
    cli("cancel", task_id)
    refused = cli("model", task_id, "cheap")
    assert (refused.code, "it takes no other model now" in refused.err) == (2, True)


def test_an_image_is_shown_as_a_line(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """Known by its bytes; no view has them. What is none is refused, and who sees nothing is warned of."""
    image, text = tmp_path / "screen.txt", tmp_path / "text.png"
    image.write_bytes(png(40, 30))
    text.write_text("no image", encoding="utf-8")
    ran = cli("submit", "Look.", "--attach", str(image))
    task_id = ran.out.strip()
    found = bench.client.conversation(task_id)[0]
    assert set(found) == {"role", "content", "turn", "v"}
    line = label(found["content"][0])
    assert line.startswith("[image/png ")
    for arguments in (["show", task_id], ["show", task_id, "--full"], ["show", task_id, "--json"]):
        shown = cli(*arguments).out
        assert "iVBOR" not in shown
        assert line in shown or "--json" in arguments
    assert "warning" not in ran.err
    refused = cli("submit", "Look.", "--attach", str(text))
    assert refused.code == 2
    assert "png, jpeg, gif, webp and pdf" in refused.err
    assert "no such file" in cli("submit", "Look.", "--attach", str(tmp_path / "none.png")).err
    warned = cli("submit", "Look.", "--attach", str(image), "--model", "openai:llama3")
    assert warned.code == 0
    assert "does not see" in " ".join(warned.err.split())
    cli("send", task_id, "And this.", "--attach", str(image))
    context = bench.kit.store.context
    (sent,) = context.client.lrange(context.keys.inbox(task_id), 0, -1)
    assert inbox_item(sent).attachments[0]["sha256"] == found["content"][0]["source"]["sha256"]


def test_a_task_that_is_resumed_is_shown_an_image(bench: Bench, tmp_path: Path) -> None:
    """It goes with the message; without words it is refused before anything is changed (test_run_view.py)."""
    image = tmp_path / "screen.png"
    image.write_bytes(png(40, 30))
    task_id = bench.kit.put(Status.PAUSED)
    resumed(bench.client, task_id, ResumeInput(message="It looks like this.", attach=(image,)))
    context = bench.kit.store.context
    (sent,) = context.client.lrange(context.keys.inbox(task_id), 0, -1)
    (shown,) = inbox_item(sent).attachments
    assert shown["media_type"] == "image/png"
    assert bench.client.get(task_id).status is not Status.PAUSED

"""What people read of calls and turns: events with commands and results, the whole conversation, turns from 1."""

from __future__ import annotations

import os

import pytest

from clikit import Bench, CommandLine, run_on_terminal
from neuraphage.model.event import Event
from neuraphage.model.message import Entry
from neuraphage.ports import Changes, FinishTo
from storekit import MODEL_CALL

STEERING = "\x1b[31mred\x1b]0;title\x07\r"
LONG = "x" * 3_000


@pytest.fixture
def busy(bench: Bench) -> str:
    """A command that has failed, a file that was read, a reply in Markdown; the task is in its second turn."""
    task_id, lease = bench.kit.running()
    command = {"type": "tool_use", "id": "t1", "name": "run_command", "input": {"command": f"make test # {LONG}"}}
    read = {"type": "tool_use", "id": "t2", "name": "read_file", "input": {"path": "src/a.py"}}
    text = {"type": "text", "text": f"# A heading\n\nSome **bold** words {STEERING}"}
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "no rule\n[exit code 2]", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2", "content": f"one\ntwo {STEERING}"},
    ]
    events = [
        Event(kind=kind, data={"id": call, "tool": tool, "error": call == "t1", "unknown": False})
        for call, tool in (("t1", "run_command"), ("t2", "read_file"))
        for kind in ("ToolStarted", "ToolCompleted")
    ]
    entries = (Entry(role="assistant", content=[text, command, read]), Entry(role="user", content=results))
    bench.kit.finish(lease, FinishTo.NEXT, Changes(entries=entries, events=tuple(events), add=MODEL_CALL))
    return task_id


def test_events_name_what_was_done(cli: CommandLine, busy: str) -> None:
    """The command or path of a call, and what came of it, each on one line."""
    lines = cli("events", busy).out.splitlines()
    assert any("run_command starts: $ make test" in line for line in lines)
    assert any("run_command done (with an error): $ make test" in line and "[exit code 2]" in line for line in lines)
    assert any(line.endswith("read_file done: src/a.py: 2 lines") for line in lines)


def test_show_full_cuts_nothing(cli: CommandLine, busy: str) -> None:
    """Every message, call and result; without it the last ones, shortened. No control code gets through."""
    whole, short = cli("show", busy, "--full").out, cli("show", busy).out
    assert LONG in whole
    assert LONG not in short
    for part in ("make test", "src/a.py", "no rule", "[exit code 2]", "one", "# A heading", "**bold**"):
        assert part in whole
    assert not {"\x1b", "\x07", "\r"} & set(whole)
    assert len(cli("show", busy, "--full", "--json").json["last_messages"]) == 3


def test_markdown_is_rendered_on_a_terminal(busy: str) -> None:
    """A heading without its mark, bold words without stars; the model's own codes stay out."""
    written = run_on_terminal("show", busy, "--full", env=os.environ)
    assert "A heading" in written
    assert "**bold**" not in written
    assert "]0;title\x07" not in written


@pytest.mark.parametrize("command", [("show", "--full"), ("show",), ("events",)])
def test_what_a_file_holds_steers_no_terminal(busy: str, command: tuple[str, ...]) -> None:
    """Results of read_file and grep are stored with the control characters of the file; views show none of them."""
    written = run_on_terminal(command[0], busy, *command[1:], env=os.environ)
    assert "src/a.py" in written
    assert not [code for code in ("\x1b[31mred", "\x1b]0;", "\x07", "red\r\x1b") if code in written]
    assert "\r" not in written.replace("\r\n", "\n")


def test_turns_count_from_one(cli: CommandLine, bench: Bench, busy: str) -> None:
    """A task that has done one turn is in its second, in every text; the stored number keeps its name."""
    assert ", turn 2, saved" in cli("checkpoint", busy).out
    found = cli("checkpoint", busy, "--json").json
    assert (found["iteration"], found["turn"]) == (1, 2)
    bench.kit.claim(busy)
    bench.kit.recover(busy)
    assert "turn 2, " in cli("why", busy).out.partition("decisions")[2]
    assert ", turn 1, saved" in cli("checkpoint", bench.kit.create()).out

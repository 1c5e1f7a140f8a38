"""What a task's view is made of: diffs, calls, answers, lines that fit; and wrong calls of `run`. No process."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from clikit import Bench, CommandLine
from neuraphage import stack_note
from neuraphage.api.transcript import Transcript
from neuraphage.cli.call_text import DIFF_LINES, OUTPUT_LINES, body, outcome, title
from neuraphage.cli.console import wrapped
from neuraphage.cli.flags import choose_flag, forget_flags
from neuraphage.cli.interrupts import Interrupts
from neuraphage.cli.prompts import meant_here
from neuraphage.cli.run_command import NextCommands
from neuraphage.cli.task_view import TaskView
from neuraphage.cli.traits import traits_of
from neuraphage.cli.viewer import BAR, Viewer
from neuraphage.decide.call_lines import AskedCall, call_lines
from neuraphage.decide.known_files import MAX_KNOWN_CHARS, KnownFiles, diff_of, without_numbers
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.dev.stack_use import UnusedStop, is_taken, lock_start, use_stack
from neuraphage.dev.stop_request import StopRequest
from neuraphage.errors import BadInput
from neuraphage.model.event import Event
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.model.tool_traits import NumberedFile, PartOfFile, WholeFile
from neuraphage.ports import Delta
from patience import PATIENCE_S

NUMBERED = "     1\tone\n     2\ttwo\n     3\tthree"
EDIT = {"path": "f", "old_string": "two", "new_string": "TWO"}


def texts(lines: Sequence[tuple[str, str]]) -> list[str]:
    return [text for text, _ in lines]


# --- files ---


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (NUMBERED, "one\ntwo\nthree\n"),
        ("     1\ttab\tin it", "tab\tin it\n"),
        ("     2\ttwo", None),
        ("     1\tone\n     3\tthree", None),
        (f"{NUMBERED}\n[9 lines left out below; go on with offset=4]", None),
        ("[f is empty]", None),
    ],
)
def test_only_a_whole_file_is_known(result: str, text: str | None) -> None:
    """A part of a file, or a note about it, is not taken for the file."""
    assert without_numbers(result) == text


def test_what_is_known_moves_on_with_each_change() -> None:
    """Read, edited, written; and forgotten when nobody can tell any more."""
    files = KnownFiles()
    files.was_read(NumberedFile(), {"path": "f"}, NUMBERED)
    files.called(PartOfFile(), EDIT)
    assert files.before("f") == "one\nTWO\nthree\n"
    files.called(PartOfFile(), EDIT)  # `two` is gone
    assert files.before("f") is None
    files.called(WholeFile(), {"path": "f", "content": "new"})
    assert files.before("f") == "new"
    files.called(WholeFile(), {"path": "f", "content": "x" * (MAX_KNOWN_CHARS + 1)})
    assert files.before("f") is None
    files.was_read(NumberedFile(), {"path": "g", "offset": 1, "limit": 3}, NUMBERED)
    assert files.before("g") is None


def test_a_change_of_a_known_file_is_a_unified_diff() -> None:
    """Line numbers and what stands around; without them when the file is not known."""
    known = texts(diff_of(PartOfFile(), EDIT, "one\ntwo\nthree\n"))
    assert known == ["@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " three"]
    assert texts(diff_of(PartOfFile(), EDIT, None)) == ["-two", "+TWO"]
    assert texts(diff_of(WholeFile(), {"content": "a\nb\n"}, "a\n")) == ["@@ -1 +1,2 @@", " a", "+b"]
    assert texts(diff_of(WholeFile(), {"content": "a\n"}, None)) == ["+a"]
    assert dict(diff_of(PartOfFile(), EDIT, None)) == {"-two": "red", "+TWO": "green"}


# --- calls ---


@pytest.mark.parametrize(
    ("tool", "params", "shown"),
    [
        ("read_file", {"path": "a.py"}, "> read_file a.py"),
        ("grep", {"pattern": "x+", "path": "src"}, "> grep x+ in src"),
        ("glob", {"pattern": "*.py"}, "> glob *.py"),
        ("run_command", {"command": "ls\npwd\nid"}, "$ ls (and 2 more lines)"),
        ("of_a_plugin", {"a": 1, "b": "two"}, "> of_a_plugin a=1, b=two"),
        ("of_a_plugin", {}, "> of_a_plugin"),
    ],
)
def test_a_call_in_one_line(tool: str, params: dict[str, Any], shown: str) -> None:
    """The tool, and what it works on."""
    assert title(tool, params) == shown


def asked(tool: str, params: dict[str, Any]) -> list[tuple[str, str]]:
    return call_lines(AskedCall(tool, params, traits_of(tool)))


def test_a_call_that_is_decided_about_is_shown_whole() -> None:
    """A long command, and the parameters of a tool that nobody here knows; in passing they are shortened."""
    command = {"command": "\n".join(f"step {number}" for number in range(100))}
    assert len(asked("run_command", command)) == 100
    assert texts(body("run_command", command, None))[-1] == f"... {99 - DIFF_LINES} more lines"
    assert '  "a": 1' in texts(asked("of_a_plugin", {"a": 1}))
    assert body("of_a_plugin", {"a": 1}, None) == []


def test_what_a_call_came_to() -> None:
    """The last lines of a command with its end, a count for what was read, the reason of an error."""
    output = "\n".join(f"line {number}" for number in range(50))
    words, lines = outcome("run_command", f"{output}\n[exit code 1]", is_error=True)
    assert words == ""
    assert texts(lines)[0] == f"... {50 - OUTPUT_LINES} lines before"
    assert lines[-1] == ("[exit code 1]", "red")
    assert outcome("read_file", NUMBERED, is_error=False) == ("3 lines", [])
    assert outcome("list_directory", "a\nb/", is_error=False) == ("2 entries", [])
    assert outcome("read_file", "[f is empty]", is_error=False) == ("f is empty", [])
    assert outcome("edit", "was not found", is_error=True) == ("", [("was not found", "red")])


# --- answers ---

PERMISSION = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
CHOICE = Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="Which?", options=("Red", "Blue"))
FREE = Prompt(prompt_id="r", kind=PromptKind.QUESTION, text="What?")


@pytest.mark.parametrize(
    ("prompt", "typed", "answer"),
    [
        (PERMISSION, "y", "yes"),
        (PERMISSION, " Yes ", "yes"),
        (PERMISSION, "", "no"),
        (PERMISSION, "a", "always"),
        (PERMISSION, "never", "never"),
        (PERMISSION, "v", None),
        (PERMISSION, "sure", None),
        (CHOICE, "2", "Blue"),
        (CHOICE, "red", "Red"),
        (CHOICE, "3", None),
        (CHOICE, "", None),
        (FREE, "2", "2"),
        (FREE, "  ", None),
    ],
)
def test_what_a_typed_line_means(prompt: Prompt, typed: str, answer: str | None) -> None:
    """Keys, words and numbers; anything else is asked again, and only a permission has a default."""
    if answer is None:
        with pytest.raises(BadInput):
            meant_here(prompt, typed)
    else:
        assert meant_here(prompt, typed) == answer


# --- the view ---


class Written:
    """A view of a made-up conversation, and what it writes."""

    def __init__(self, *entries: Mapping[str, Any], terminal: bool = False, width: int = 80) -> None:
        self.file = io.StringIO()
        console = Console(
            file=self.file,
            width=width,
            force_terminal=terminal,
            color_system=None,
            markup=False,
            soft_wrap=True,
            highlight=False,
        )
        self.viewer = Viewer(console)
        self.view = TaskView(self.viewer, Transcript(lambda first: entries[first:], traits_of))

    def saw(self, *items: Event | Delta) -> list[str]:
        for item in items:
            self.view.show(item)
        self.view.end_text()
        return self.file.getvalue().splitlines()


def said(text: str, *calls: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *calls]}


def called(tool: str, **params: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"id-{tool}", "name": tool, "input": params}


def came_to(tool: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"id-{tool}", "content": text, **more}],
    }


ASKED = Event(kind="RequestSent", data={"attempt": 1})
REPLIED = Event(kind="ResponseReceived", data={})


def of_tool(kind: str, tool: str) -> Event:
    return Event(kind=kind, data={"tool": tool, "id": f"id-{tool}", "error": False, "unknown": False})


def test_a_summary_is_no_reply() -> None:
    """Who comes late sees that one was made, and each reply behind its own call."""
    made = {"role": "user", "content": [], "compaction": {"how": "summary", "summary": "All of it."}}
    written = Written(said("First."), made, said("Second."), width=200)
    purpose = {"attempt": 1, "purpose": "summary"}
    compacted = {"how": "summary", "before_tokens": 180_000, "after_tokens": 9_000}
    shown = written.saw(
        ASKED, REPLIED, Event(kind="RequestSent", data=purpose), Event(kind="ResponseReceived", data=purpose),
        Event(kind="ContextCompacted", data=compacted), ASKED, REPLIED,
    )  # fmt: skip
    said_once = [line for line in shown if line.strip()]
    assert (said_once[0], said_once[-1], len(said_once)) == (f"{BAR}First.", f"{BAR}Second.", 3), said_once
    assert "about 9,000 tokens instead of 180,000 (a summary in place of the older part)" in said_once[1]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ((), ["Hello there."]),
        (("Hello ",), ["Hello there."]),
        (("Hello ", "there."), ["Hello there."]),
        (("there.",), ["there.", "Hello there."]),
    ],
)
def test_a_reply_is_whole_however_much_of_it_streamed(pieces: tuple[str, ...], shown: list[str]) -> None:
    """Who comes late, or misses the end, gets the rest from what is stored; nobody gets it twice."""
    written = Written(said("Hello there."))
    lines = written.saw(ASKED, *[Delta("text", piece) for piece in pieces], REPLIED)
    assert lines == [f"{BAR}{line}" for line in shown]


def test_a_call_with_its_diff_and_its_failure() -> None:
    """The diff comes when it starts, the reason when it fails; a read is one line, at its end."""
    written = Written(
        said("", called("read_file", path="f")),
        came_to("read_file", NUMBERED),
        said("", called("edit", **EDIT)),
        came_to("edit", "The disk is full.", is_error=True),
    )
    assert written.saw(of_tool("ToolStarted", "read_file")) == []
    assert written.saw(of_tool("ToolCompleted", "read_file"))[-1] == "  > read_file f: 3 lines"
    assert written.saw(of_tool("ToolStarted", "edit"))[1:] == [
        "  > edit f",
        "    @@ -1,3 +1,3 @@",
        "     one",
        "    -two",
        "    +TWO",
        "     three",
    ]
    assert written.saw(of_tool("ToolCompleted", "edit"))[7:] == ["    The disk is full."]


def test_each_turn_has_its_own_text_and_cost(bench: Bench) -> None:
    """Its reply once, then what that turn alone took, and what the task has taken so far; turns that end together are
    told together.
    """
    replies = [said(f"Reply {number}.") for number in range(4)]
    written, record = Written(*replies), bench.client.get(bench.kit.create())
    prices = [0, 100, 400, 1_400]  # millionths of a dollar so far

    def after(turns: int) -> None:
        used = {"iteration": turns, "input_tokens": 10 * turns, "cost_microusd": prices[min(turns, 3)]}
        written.view.progress(record.model_copy(update={"counters": record.counters.model_copy(update=used)}))

    after(0)
    for turns in (1, 2):
        written.saw(ASKED, Delta("text", f"Reply {turns - 1}."), REPLIED)
        after(turns)
        after(turns)  # a look at which nothing is new
    written.saw(ASKED, REPLIED, ASKED, REPLIED)
    after(4)
    assert [line for line in written.saw() if line.strip()] == [
        f"{BAR}Reply 0.",
        "  turn 1 done, 10 tokens, $0.0001",
        f"{BAR}Reply 1.",
        "  turn 2 done, 10 tokens, $0.0003; so far 20 tokens, $0.0004",
        f"{BAR}Reply 2.",
        f"{BAR}Reply 3.",
        "  turns 3 to 4 done, 20 tokens, $0.0010; so far 40 tokens, $0.0014",
    ]


def test_who_comes_in_the_midst_of_a_turn_is_told_no_cost_of_it(bench: Bench) -> None:
    """Its reply may be paid by then: the whole is told, and what the next turn took."""
    written, record = Written(), bench.client.get(bench.kit.create())
    for turns, tokens in ((3, 100), (4, 100), (5, 130)):
        used = {"iteration": turns, "input_tokens": tokens}
        written.view.progress(record.model_copy(update={"counters": record.counters.model_copy(update=used)}))
    assert [line for line in written.saw() if line.strip()] == [
        "  turn 4 done, so far 100 tokens, $0.0000",
        "  turn 5 done, 30 tokens, $0.0000; so far 130 tokens, $0.0000",
    ]


def test_the_summary_is_shown_whole_and_once() -> None:
    """What complete_task says is the task's result; a last reply that says the same is not repeated."""
    summary = "All of it. " * 100
    ended = Event(kind="TaskCompleted", data={"summary": summary})
    assert Written().saw(ended) == [f"{BAR}{summary}", "  completed"]
    assert Written(said(summary)).saw(ASKED, REPLIED, ended) == [f"{BAR}{summary}", "  completed"]


def test_content_cannot_pass_for_a_line_of_ours() -> None:
    """Output and files stand further in, without their control codes."""
    written = Written(
        said("", called("run_command", command="x")), came_to("run_command", "  failed: no\n\x1b[2J\n[exit code 0]")
    )
    lines = written.saw(of_tool("ToolStarted", "run_command"), of_tool("ToolCompleted", "run_command"))
    assert lines == ["  $ x", "      failed: no", "    \N{REPLACEMENT CHARACTER}[2J", "    [exit code 0]"]


def test_the_passing_line_is_for_terminals_and_never_too_wide() -> None:
    """A pipe gets none; on a terminal the next line takes its place."""
    pipe, terminal = Written(), Written(terminal=True, width=40)
    for written in (pipe, terminal):
        written.viewer.status("x" * 100)
        written.viewer.line("next")
    assert pipe.file.getvalue() == "next\n"
    passing, _, left = terminal.file.getvalue().partition("\r\x1b[2K")
    assert cell_len(passing) < 40
    assert left == "next\n"


@pytest.mark.parametrize("width", [7, 20, 40, 200])
@pytest.mark.parametrize(
    "text", ["a few words  and  blanks", "模型" * 40, "x" * 150, "", "two\nlines that go on", "  in"]
)
def test_broken_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    """No line is wider than the terminal, and no character is lost."""
    rows = [row.plain for row in wrapped(Text(text), width, "    ", keep_blanks=True)]
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


# --- the call ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "give what to do, or --resume"),
        (["run", "x", "--answer", "yes"], "--answer goes with --resume"),
        (["run", "--resume", "a", "--dir", ".", "--allow", "*"], "--dir and --allow"),
        (["run", "--resume", "a", "--dir", "."], "--dir is for a new task"),
        (["run", "--resume", "a", "--attach", "a.png"], "--attach goes with words"),
        (["run", "--resume", "a", "look", "--attach", "/nowhere/a.png"], "no such file"),
        (["run", "  "], "the prompt is empty"),
        (["run", "x"], "ANTHROPIC_API_KEY"),
        (["run", "x", "--model", "claude-haiku-5-5"], "ANTHROPIC_API_KEY"),
        (["run", "x", "--script", "nocolon"], "module:attribute"),
        (["run", "x", "--dir", "/nowhere/at/all"], "there is no such directory"),
        (["run", "x", "--max-turns", "-1"], "--max-turns"),
    ],
)
def test_wrong_calls_of_run(cli: CommandLine, tmp_path: Path, arguments: list[str], words: str) -> None:
    """One line, exit 2, and no stack."""
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "data" / "logs").exists()


def test_a_script_is_not_played_on_servers_of_someone_else(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """--script starts a stack; servers that the environment names have one."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://127.0.0.1:1/1")
    assert "NEURAPHAGE_STATE_URL" in cli("run", "x", "--script", "a:b").err


@pytest.mark.parametrize(
    ("running", "asked", "words"),
    [
        ("a:b", None, "plays the script a:b and calls no model"),
        ("a:b", "c:d", "plays the script a:b and calls no model"),
        (None, "c:d", "calls the real model"),
    ],
)
def test_nothing_is_played_or_paid_unasked(
    cli: CommandLine, tmp_path: Path, running: str | None, asked: str | None, words: str
) -> None:
    """A person's files are safe from a stack that plays a script, or another one, and their purse from a real model."""
    folder = tmp_path / "data"
    with take_lock(open_files(folder)):
        address = ServerAddress("redis://127.0.0.1:1/1", "redis://127.0.0.1:1/0")
        stack_note.write(folder, address, "default", "m", running)
        ran = cli("run", "x", *(("--script", asked) if asked else ()))
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


@pytest.mark.parametrize("running", [None, "http://other/v1"])
def test_a_stack_that_calls_another_server_is_not_used(cli: CommandLine, tmp_path: Path, running: str | None) -> None:
    """Its workers have their own settings: the conversation would go elsewhere than this line says."""
    folder = tmp_path / "data"
    with take_lock(open_files(folder)):
        address = ServerAddress("redis://127.0.0.1:1/1", "redis://127.0.0.1:1/0")
        stack_note.write(folder, address, "default", "m", base_url=running)
        ran = cli("run", "x", "--model", "openai:m", "--base-url", "http://mine/v1")
    assert (ran.code, ran.out) == (2, "")
    assert f"calls {running or 'no server of your own'}; stop it first" in ran.err


@pytest.mark.parametrize("running", [(), ("openai: 1 2",)])
def test_a_stack_that_knows_other_prices_is_not_used(
    cli: CommandLine, tmp_path: Path, running: tuple[str, ...]
) -> None:
    """Its workers would count other costs than this line says."""
    folder = tmp_path / "data"
    with take_lock(open_files(folder)):
        address = ServerAddress("redis://127.0.0.1:1/1", "redis://127.0.0.1:1/0")
        stack_note.write(folder, address, "default", "m", base_url="http://mine/v1", prices=running)
        server = ("--model", "openai:m", "--base-url", "http://mine/v1")
        ran = cli("run", "x", *server, "--price", "openai: 0 0")
    assert (ran.code, ran.out) == (2, "")
    assert f"knows {', '.join(running) or 'no prices of your own'}; stop it first" in ran.err


@pytest.mark.parametrize(
    ("option", "value"), [("--base-url", "http://mine/v1"), ("--price", "openai: 0 0"), ("--tool", "own:tool")]
)
def test_workers_of_other_servers_have_their_own_settings(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, option: str, value: str
) -> None:
    """An option that only a stack of this command could be told is refused, and no task is made."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://127.0.0.1:1/1")
    monkeypatch.setenv("NEURAPHAGE_BROKER_URL", "redis://127.0.0.1:1/0")
    ran = cli("run", "x", "--model", "openai:m", option, value)
    assert (ran.code, ran.out) == (2, "")
    assert f"{option} is for a stack of your own" in ran.err


def test_the_command_that_goes_on_names_the_server_of_its_models() -> None:
    """And what they cost: else the stack that it starts could not call the task's model."""
    choose_flag("openai_base_url", "http://mine/v1")
    choose_flag("prices", ("openai: 0 0",))
    try:
        again = NextCommands(f"task-{'0' * 8}-1-2-3-{'a' * 12}", own_stack=True, script=None).resume()
    finally:
        forget_flags()
    assert again == f"neuraphage run --resume {'a' * 12} --base-url http://mine/v1 --price 'openai: 0 0'"


def test_the_command_that_goes_on_starts_a_stack_when_there_will_be_none(bench: Bench) -> None:
    """With a stack of its own `run` names itself, with the script; on another's stack the short commands do."""
    task_id = bench.kit.waiting(PERMISSION)
    record, short = bench.client.get(task_id), task_id.rpartition("-")[2]
    assert NextCommands(task_id, own_stack=False, script=None).lines(record) == [f"neuraphage answer {short} p ANSWER"]
    own = NextCommands(task_id, own_stack=True, script="a:b").lines(record)
    assert own[0] == f"neuraphage run --resume {short} --script a:b --prompt p --answer ANSWER"
    paused = bench.kit.put(Status.PAUSED)
    assert NextCommands(paused, own_stack=True, script=None).lines(bench.client.get(paused)) == [
        f"paused; go on with: neuraphage run --resume {paused.rpartition('-')[2]}"
    ]


def test_a_told_command_reaches_the_same_stack(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """Who names a data folder gets commands that name it."""
    task_id = bench.kit.waiting(PERMISSION)
    shown = cli("attach", task_id, "--data-dir", str(tmp_path / "my data")).out
    short = task_id.rpartition("-")[2]
    assert f"  neuraphage --data-dir '{tmp_path}/my data' answer {short} p ANSWER\n" in shown
    assert f"  neuraphage answer {short} p ANSWER\n" in cli("attach", task_id).out
    paused = cli("pause", bench.kit.create(), "--data-dir", str(tmp_path)).out
    assert f"neuraphage --data-dir {tmp_path} resume " in paused
    assert "`neuraphage --data-dir /d dev`" in cli("health", "--data-dir", "/d").err


def test_windows_is_refused_in_one_line() -> None:
    """Before anything is imported that only Unix has."""
    pretend = "import sys; sys.platform = 'win32'; sys.modules.update(fcntl=None, termios=None, resource=None)"
    ended = subprocess.run(
        [sys.executable, "-c", f"{pretend}; from neuraphage.cli.main import main; main()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "WSL" in ended.stderr
    assert ended.stderr.count("\n") == 1


# --- who uses a stack ---


def test_a_stack_ends_with_its_last_user(tmp_path: Path) -> None:
    """Two users: one may leave. With the second the stack ends, and nobody can become a user of it any more."""
    first, second = use_stack(tmp_path), use_stack(tmp_path)
    assert first is not None
    assert second is not None
    stop = StopRequest()
    unused = UnusedStop(tmp_path, stop)
    unused.start()
    first.close()
    assert not stop.wait(0.5)
    second.close()
    unused.join(PATIENCE_S)
    assert stop.asked
    assert not stop.at_once
    assert use_stack(tmp_path) is None


def test_one_starts_a_stack_at_a_time(tmp_path: Path) -> None:
    """The second waits until the first has done it; a folder that nobody holds is not taken."""
    lock = lock_start(tmp_path)
    assert lock is not None
    assert lock_start(tmp_path) is None
    lock.close()
    assert not is_taken(tmp_path)


def test_the_second_ctrl_c_leaves() -> None:
    """The first is counted, the second raises; afterwards Ctrl-C is what it was."""
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.count == 1
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before

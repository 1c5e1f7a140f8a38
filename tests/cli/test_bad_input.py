"""A wrong call gets one clear line and exit code 2, a missing stack exit code 1; never a traceback."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import typer

from clikit import Bench, CommandLine, Ran
from neuraphage.cli.main import exit_code_of
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from storekit import item

UNKNOWN = "task-01a2b3c4-0000-7000-8000-000000000000"


def complaint(ran: Ran, code: int) -> str:
    """The one line that the run wrote."""
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.startswith("neuraphage: ")
    assert ran.err.count("\n") == 1
    return ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["show"], "see: neuraphage show --help"),
        (["list", "--limit", "x"], "--limit"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--status", "Sleeping"], "--status"),
        (["submit", "x", "--nosuch"], "--nosuch"),
        (["submit", "x", "--dir", "/nowhere/at/all"], "there is no such directory"),
        (["demo", "--live"], "ANTHROPIC_API_KEY"),
        (["demo", "--project", "/nowhere/at/all"], "there is no such directory"),
        (["dev"], "ANTHROPIC_API_KEY"),
        (["dev", "--script", "nocolon"], "module:attribute"),
        (["recover", "--resume", "a", "--reset", "b"], "only one of"),
        (["recover", "--reset", "a", "--all-reset"], "only one of"),
        (["health", "--live", "--ready"], "only one of"),
    ],
)
def test_wrong_calls(cli: CommandLine, arguments: list[str], words: str) -> None:
    """Each says what is wrong, in one line, before anything is tried."""
    assert words in complaint(cli(*arguments), 2)


def test_a_call_without_arguments_gets_the_help(cli: CommandLine) -> None:
    """Someone who types the bare name learns what there is."""
    ran = cli()
    assert ran.code == 2
    assert "Commands:" in ran.out


@pytest.mark.parametrize("command", [["list"], ["show", "a"], ["submit", "x"], ["attach", "a"], ["recover"]])
def test_no_running_stack(cli: CommandLine, command: list[str]) -> None:
    """It says how to start one."""
    assert "neuraphage dev" in complaint(cli(*command), 1)


def test_a_stack_file_that_cannot_be_read(cli: CommandLine, tmp_path: Path) -> None:
    """A damaged note about the running stack is named."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "stack.json").write_text("{")
    assert "stack.json" in complaint(cli("list"), 1)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("LEASE_S", "abc", "NEURAPHAGE_LEASE_S"),
        ("HEARTBEAT_S", "19", "two renewals"),
        ("NAMESPACE", "No Good", "NEURAPHAGE_NAMESPACE"),
    ],
)
def test_settings_out_of_range(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    """A wrong environment variable is named."""
    monkeypatch.setenv(f"NEURAPHAGE_{name}", value)
    assert words in complaint(cli("list"), 2)


def test_unreachable_state_server(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection is told, without the password of the URL."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://:pa55word@127.0.0.1:1/1")
    said = complaint(cli("list"), 1)
    assert "did not answer" in said
    assert "pa55word" not in said


def test_wrong_password(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    """A refused password is told, without the password."""
    socket = bench.client.settings.state_url.get_secret_value().partition("//")[2]
    bench.kit.client.config_set("requirepass", "right")
    try:
        monkeypatch.setenv("NEURAPHAGE_STATE_URL", f"unix://:pa55word@{socket}")
        said = complaint(cli("list"), 1)
    finally:
        bench.kit.client.config_set("requirepass", "")
    assert "password" in said
    assert "pa55word" not in said


@pytest.mark.parametrize(
    "command", ["show", "attach", "pause", "resume", "cancel", "retry", "checkpoint", "answer", "send"]
)
@pytest.mark.parametrize("task_id", [UNKNOWN, "ffff", ""])
def test_unknown_id(cli: CommandLine, bench: Bench, command: str, task_id: str) -> None:
    """A whole id, a part of one, and nothing at all."""
    arguments = [command, task_id, *(["text"] if command in {"answer", "send"} else [])]
    assert "task" in complaint(cli(*arguments), 2)


def test_ambiguous_id(cli: CommandLine, bench: Bench) -> None:
    """A part that fits two tasks is refused, and says so."""
    for number in (1, 2):
        bench.kit.create(task_id=f"task-01a2b3c4-0000-7000-8000-00000000000{number}")
    assert "2 tasks fit '01a2'" in complaint(cli("show", "01a2"), 2)


@pytest.mark.parametrize("answer", ["", "  ", "perhaps", "yes please"])
def test_answers_that_no_permission_takes(cli: CommandLine, bench: Bench, answer: str) -> None:
    """An empty answer, and one that is none of the options: the prompt stays open."""
    task_id = bench.kit.waiting(
        Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
    )
    complaint(cli("answer", task_id, answer), 2)
    assert bench.kit.inbox(task_id) == []


def test_an_answer_outside_the_options_of_a_question(cli: CommandLine, bench: Bench) -> None:
    """A question with options takes one of them, in any case; one without takes any text."""
    task_id = bench.kit.waiting(Prompt(prompt_id="p", kind=PromptKind.QUESTION, text="Which?", options=("Red", "Blue")))
    assert "Red, Blue" in complaint(cli("answer", task_id, "green"), 2)
    assert cli("answer", task_id, "blue").code == 0
    assert [item(raw).text for raw in bench.kit.inbox(task_id)] == ["Blue"]
    free = bench.kit.waiting(Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="Which?"))
    assert cli("answer", free, "green").code == 0


def test_nothing_to_answer(cli: CommandLine, bench: Bench) -> None:
    """A task that asked nothing takes no answer."""
    assert "no open prompt" in complaint(cli("answer", bench.kit.create(), "yes"), 2)


def test_moves_that_the_status_does_not_allow(cli: CommandLine, bench: Bench) -> None:
    """They say where the task stands."""
    task_id = bench.kit.create()
    assert "Queued" in complaint(cli("retry", task_id), 2)
    assert "Queued" in complaint(cli("recover", "--resume", task_id), 2)
    assert "Queued" in complaint(cli("recover", "--reset", task_id, "--dry-run"), 2)


@pytest.mark.parametrize(
    "options", [["--max-cost", "nan"], ["--max-cost", "inf"], ["--max-turns", "10001"], ["--max-cost", "-1"]]
)
def test_limits_out_of_range(cli: CommandLine, bench: Bench, options: list[str]) -> None:
    """No task is made of a limit that means nothing."""
    complaint(cli("submit", "x", *options), 2)
    assert bench.client.list() == []


def test_an_empty_prompt(cli: CommandLine, bench: Bench) -> None:
    """There is nothing to do in it."""
    assert "empty" in complaint(cli("submit", "  "), 2)


@pytest.mark.parametrize(
    ("raised", "code"),
    [(KeyboardInterrupt(), 130), (typer.Abort(), 130), (BrokenPipeError(), 141), (PermissionError(13, "no", "/x"), 1)],
)
def test_how_a_command_may_end(
    raised: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupts, a reader that goes away and errors of the system have exit codes, not tracebacks."""
    monkeypatch.setattr("sys.stderr", io.StringIO())  # a broken pipe closes it

    def run() -> None:
        raise raised

    assert exit_code_of(run, []) == code

"""The table of bad input: what a person may get wrong, the exit code, and the words of the one line that says so.

2: the call is wrong. 1: it did not work. 141: the reader went away. Never a traceback, and nothing is changed.
Real processes stand in test_bad_surroundings.py.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer

from clikit import Bench, CommandLine, Ran
from neuraphage.cli.main import exit_code_of
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import TERMINAL, Status
from neuraphage.setting_sources import FILE_NAME
from storekit import item

UNKNOWN = "task-01a2b3c4-0000-7000-8000-000000000000"
TEXTS = {"answer", "send"}
SECRET = "pa55word"
LOCKS = ("stack.use", "stack.start", "lock")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        call: the arguments; {folder} is an empty folder, {file} a file.
        words: part of the line that is written.
        code: the exit code.
        environ: variables set for it.
        before: prepares the folder.
    """

    call: tuple[str, ...]
    words: str
    code: int = 2
    environ: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[Path], object] | None = None


def call(text: str, words: str, code: int = 2, **environ: str) -> Row:
    """A row whose arguments hold no blanks."""
    return Row(tuple(text.split()), words, code, {f"NEURAPHAGE_{name}": value for name, value in environ.items()})


def a_broken_note(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "stack.json").write_text("{", encoding="utf-8")


def a_note_without_urls(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "stack.json").write_text("{}", encoding="utf-8")


def settings_file(text: str) -> Callable[[Path], object]:
    """A project's file of settings."""
    return lambda folder: (folder / FILE_NAME).write_bytes(text.encode("utf-8", "surrogateescape"))


ALONE = {
    # the call
    "no such command": call("nosuch", "No such command 'nosuch'"),
    "a command misspelt": call("lits", "Did you mean 'list'"),
    "no such option of a command": call("submit x --nosuch", "--nosuch"),
    "an argument missing": call("show", "see: neuraphage show --help"),
    "hyphens for an id": call("show -", "give at least one letter or digit", STATE_URL="redis://127.0.0.1:1/1"),
    "one argument too many": call("pause a b", "unexpected extra argument"),
    "an option without its value": call("submit x --model", "requires an argument"),
    "no number": call("list --limit x", "--limit"),
    "a number out of range": call("list --limit 0", "--limit"),
    "no such status": call("list --status Sleeping", "'--status': 'Sleeping' is not one of 'queued'"),
    "two orders at once": call("recover --resume a --reset b", "only one of"),
    "two questions at once": call("health --live --ready", "only one of"),
    "a directory that is not there": call("submit x --dir /nowhere/at/all", "there is no such directory"),
    "a file for a directory": call("submit x --dir {file}", "{file}: this is a file"),
    "a file for a directory of run": call("run x --dir {file}", "{file}: this is a file"),
    "no turns": call("submit x --max-turns 0", "--max-turns 0: such a task could not begin"),
    "no turns of run": call("run x --max-turns 0", "--max-turns 0: such a task could not begin"),
    "no turns to go on with": call("run --resume a --max-turns 0", "--max-turns 0: such a task could not begin"),
    "no turns to retry with": call("retry a --max-turns 0", "--max-turns 0: such a task could not begin"),
    "no money to retry with": call("retry a --max-cost 0", "--max-cost 0: such a task could not begin"),
    "less than no turns": call("submit x --max-turns -1", "--max-turns -1: such a task could not begin"),
    "too many turns": call("submit x --max-turns 99999999999999999999", "--max-turns"),
    "too much money": call("submit x --max-cost 1e300", "--max-cost 1e+300 is above"),
    "endless money": call("run x --max-cost inf", "--max-cost inf is no amount"),
    "money for nothing": call("submit x --max-cost 0", "--max-cost 0: such a task could not begin"),
    "less than no money": call("submit x --max-cost -1", "--max-cost -1: such a task could not begin"),
    "an empty model": Row(("submit", "x", "--model", ""), "--model is empty"),
    "a blank model": Row(("run", "x", "--model", "  "), "--model is empty"),
    "two words for a model": Row(("submit", "x", "--model", "claude sonnet"), "no id of a model"),
    "a tier that is not there": call("submit x --model tier:nosuch", "there are: cheap, worker, expert"),
    "a provider without a model": call("run x --model openai:", "names no model"),
    "fields that are no JSON": Row(("submit", "x", "--extra", "{"), "--extra: write a JSON object"),
    "fields that are ours": Row(("run", "x", "--extra", '{"messages": []}'), "messages is set by neuraphage itself"),
    "an address that is none": call("run x --force --model openai:m --base-url here", "openai_base_url is no address"),
    "a price that is none": call("dev --price openai:m", "prices"),
    "an address with a login": call("dev --base-url http://me:word-4711@h/v1", "openai_base_url holds a login"),
    "a model that no key is for": call("run x --force --model openai:m", "NEURAPHAGE_OPENAI_BASE_URL"),
    "a long model": Row(("submit", "x", "--model", "m" * 201), "no id of a model"),
    "an unknown model": call("submit x --model cloude-sonnet-5-5", "did you mean claude-sonnet-5-5?"),
    "a model of another provider": call("run x --model zzz", "known are claude-"),
    "a blank prompt": Row(("submit", " \n "), "the prompt is empty"),
    "a blank name": Row(("submit", "x", "--name", " "), "--name is empty"),
    "a blank tag": Row(("submit", "x", "--tag", ""), "--tag is empty"),
    "a priority out of range": call("submit x --priority 5", "--priority"),
    "no such way": call("submit x --on-unknown-outcome guess", "--on-unknown-outcome"),
    "a page before the first": call("list --page 0", "--page"),
    "no such order": call("list --sort colour", "--sort"),
    "no such shell": call("env --shell cmd", "--shell"),
    "a port that is too high": call("list", "no number from 0 to 65535", STATE_URL=f"redis://:{SECRET}@h:99999/1"),
    "a directory with a NUL": Row(("submit", "x", "--dir", "a\0b"), "--dir"),
    "no money": call("submit x --max-cost nan", "max-cost"),
    "no words for money": call("submit x --max-cost much", "--max-cost"),
    "text that is not UTF-8": Row(("submit", "caf\udce9"), "argument 2 is not UTF-8 text"),
    # demo and dev
    "demo --live without a key": call("demo --live", "ANTHROPIC_API_KEY"),
    "demo of a project that is not there": call("demo --project /nowhere/at/all", "there is no such directory"),
    "demo of a whole disk": call("demo --project /", "choose a small one"),
    "dev without a key": call("dev", "ANTHROPIC_API_KEY"),
    "dev with half a script": call("dev --script nocolon", "module:attribute"),
    "dev with no workers": call("dev --workers 0 --script x:y", "--workers"),
    "dev with a data folder that is a file": call("dev --script x:y", "{file}", 1, DATA_DIR="{file}"),
    "dev with a data folder that cannot be made": call(
        "dev --script x:y", "/proc/nowhere", 1, DATA_DIR="/proc/nowhere/data"
    ),
    "dev with one database for all": call(
        "dev --script x:y", "same database", STATE_URL="redis://h:1/0", BROKER_URL="redis://h:1/0"
    ),
    # run, why, events, config, purge
    "run without words": call("run", "give what to do"),
    "run in a directory that is not there": call("run x --dir /nowhere/at/all", "there is no such directory"),
    "run without a key": call("run x --force", "ANTHROPIC_API_KEY"),
    "run with half a script": call("run x --script nocolon", "module:attribute"),
    "an answer to nothing": call("run x --answer yes", "--resume"),
    "no such part of config": call("config nosuch", "nosuch"),
    "purge of what is not ours": call("purge --yes --data-dir {folder}", "was not made by neuraphage"),
    "a data folder that is a file": call("list --data-dir {file}", "{file}", 1),
    # files of settings
    "a file that is no TOML": Row(("list",), "neuraphage.toml", before=settings_file("lease_s = = 1")),
    "a setting nobody knows": Row(("list",), "leese_s", before=settings_file("leese_s = 20.0")),
    "a value of the wrong kind": Row(("list",), "lease_s", before=settings_file('lease_s = "long"')),
    "a file that is not UTF-8": Row(("list",), "neuraphage.toml", before=settings_file("x = '\udce9'")),
    "a directory for a file": Row(("list",), "neuraphage.toml", before=lambda folder: (folder / FILE_NAME).mkdir()),
    # no stack
    "list without a stack": call("list", "neuraphage dev", 1),
    "list without a stack in this folder": call("list --data-dir {folder}", "`neuraphage --data-dir {folder} dev`", 1),
    "a damaged note of the stack": Row(("list",), "stack.json", 1, before=a_broken_note),
    "an empty note of the stack": Row(("list",), "stack.json", 1, before=a_note_without_urls),
    # settings
    "a setting that is no number": call("list", "NEURAPHAGE_LEASE_S", LEASE_S="abc"),
    "a setting below its range": call("list", "NEURAPHAGE_LEASE_S", LEASE_S="-1"),
    "settings that clash": call("list", "two renewals", HEARTBEAT_S="19"),
    "a namespace with a blank": call("list", "NEURAPHAGE_NAMESPACE", NAMESPACE="No Good"),
    # servers
    "nobody listens": call("list", "did not answer", 1, STATE_URL=f"redis://:{SECRET}@127.0.0.1:1/1"),
    "no such host": call("list", "no-such-host.invalid", 1, STATE_URL=f"redis://:{SECRET}@no-such-host.invalid:1/1"),
    "no such socket": call(
        "list", "/nowhere/s", 1, STATE_URL="unix:///nowhere/s?db=1", BROKER_URL="redis://127.0.0.1:1/0"
    ),
    "a URL of another kind": call("list", "NEURAPHAGE_STATE_URL: http:", STATE_URL=f"http://:{SECRET}@h/1"),
    "a broker of another kind": call("doctor", "NEURAPHAGE_BROKER_URL: http:", BROKER_URL=f"http://:{SECRET}@h/0"),
    "no URL at all": call("list", "redis://", STATE_URL="server", BROKER_URL="redis://127.0.0.1:1/0"),
    "a port that is no number": call("doctor", "NEURAPHAGE_STATE_URL", STATE_URL=f"redis://:{SECRET}@h:port/1"),
    "a broker that cannot be derived": call(
        "list", "broker_url is not set", STATE_URL="sentinel://a:1;sentinel://b:2/1?service_name=m"
    ),
}


def complaint(ran: Ran, code: int) -> str:
    """The one line that the run wrote."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("neuraphage: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert SECRET not in ran.err
    return ran.err


def filled(text: str, folder: Path) -> str:
    """The text with the places of this test."""
    return text.replace("{folder}", str(folder)).replace("{file}", str(folder / "file"))


def files_of(folder: Path) -> list[Path]:
    """The files that are there, but for the locks by which `run` learns whether a stack runs."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((*LOCKS, ".neuraphage"))
    )


@pytest.mark.parametrize("name", ALONE)
def test_without_a_server(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """Each says what is wrong, in one line, before anything is tried."""
    row = ALONE[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    if row.before is not None:
        row.before(tmp_path)
    for variable, value in row.environ.items():
        monkeypatch.setenv(variable, filled(value, tmp_path))
    (tmp_path / "data").mkdir(exist_ok=True)
    before = files_of(tmp_path)
    said = complaint(cli(*(filled(argument, tmp_path) for argument in row.call)), row.code)
    assert filled(row.words, tmp_path) in said
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("command", ["show a", "why a", "events a", "submit x", "attach a", "recover", "cancel a"])
def test_without_a_stack(cli: CommandLine, command: str) -> None:
    """Whatever needs one says how it is started."""
    assert "neuraphage dev" in complaint(cli(*command.split()), 1)


def test_a_call_without_arguments_gets_the_help(cli: CommandLine) -> None:
    """Someone who types the bare name learns what there is."""
    ran = cli()
    assert ran.code == 2
    assert "Commands:" in ran.out


# --- on a server: {queued}, {waiting}, {asked}, {two}, {paused} ... are tasks -------------

ON_SERVER = {
    "nothing of an id": call("show task-", "at least one letter or digit"),
    "two tasks fit": call("show 0000", "tasks fit '0000'"),
    "why of nobody": call("why ffff", "no task"),
    "events of nobody": call("events ffff", "no task"),
    "events after what is no event": call("events {queued} --after never", "never"),
    "run goes on with nobody": call("run --resume ffff", "no task"),
    "a pattern for an id": call("show *", "task"),
    "an id with a line break": Row(("show", "a\nb"), "task"),
    "an id that is too long": Row(("show", "a" * 10_000), "task"),
    "an empty prompt": Row(("submit", "  "), "empty"),
    "a prompt that is too long": Row(("submit", "x" * 1_000_001), "1000000"),
    "no time to answer": call("submit x --permission-timeout 0", "more than 0, or none"),
    "no time that there is": call("run x --permission-timeout soon", "--permission-timeout 'soon': give seconds"),
    "a timeout of an old task": call("run --resume a --permission-timeout 5", "--permission-timeout is for a new task"),
    "turns out of range": call("submit x --max-turns 10001", "--max-turns 10001 is above 10,000"),
    "money without end": call("submit x --max-cost inf", "number of dollars"),
    "a model's name that is too long": Row(("submit", "x", "--model", "m" * 201), "model"),
    "an answer to nobody": call("answer {queued} yes", "no open prompt"),
    "an empty answer": Row(("answer", "{waiting}", ""), "answer"),
    "an answer that is no option": call("answer {waiting} p perhaps", "yes"),
    "an answer outside the options of a question": call("answer {asked} green", "Red, Blue"),
    "a permission without its prompt's id": call("answer {waiting} yes", "must name its prompt"),
    "an answer from a file that is not there": call("answer {asked} --file /nowhere/x", "/nowhere/x"),
    "an answer given twice": call("send {queued} text --file /nowhere/x", "give the message once"),
    "an editor without a terminal": call("answer {asked} --edit", "--edit needs a terminal"),
    "a part of an id that is too short": call("answer {two} abc yes", "no prompt 'abc' is open"),
    "a part of an id that fits two": call("answer {two} abcd yes", "several prompts begin with 'abcd'"),
    "an answer to one that is open and one that is not": call("answer {two} abcd1 nosuch yes", "nosuch"),
    "an answer to another prompt": call("answer {waiting} yes --prompt nosuch", "nosuch"),
    "an empty message": Row(("send", "{queued}", " "), "empty"),
    "a message to a cancelled task": call("send {cancelled} hello", "submit a new task"),
    "a message to a failed task": call("send {failed} hello", "neuraphage retry"),
    "no limit": call("limit {queued}", "no limit is given"),
    "a limit out of range": call("limit {queued} --max-turns 10001", "less than or equal to 10000"),
    "a limit below all": call("limit {queued} --max-turns -1", "greater than or equal to 0"),
    "a limit that is no number": call("limit {queued} --max-cost nan", "--max-cost"),
    "a limit of a cancelled task": call("limit {cancelled} --max-turns 9", "submit a new task"),
    "a pause of an ended task": call("pause {completed}", "Completed"),
    "a pause of a paused task": call("pause {paused}", "Paused"),
    "a resume of a queued task": call("resume {queued}", "Queued"),
    "a cancel of an ended task": call("cancel {completed}", "Completed"),
    "a reset of a queued task": call("recover --reset {queued} --dry-run", "Queued"),
    "a database that the server does not have": call("list", "DB index", 1, STATE_URL="{url}?db=99"),
}


def tasks(bench: Bench) -> dict[str, str]:
    """A task of each kind, by the names that the table uses."""
    ask = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
    which = Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="Which?", options=("Red", "Blue"))
    statuses = {status.value.lower(): status for status in (Status.PAUSED, *TERMINAL)}
    found = {"queued": bench.kit.create(), "waiting": bench.kit.waiting(ask), "asked": bench.kit.waiting(which)}
    both = [ask.model_copy(update={"prompt_id": prompt_id}) for prompt_id in ("abcd1", "abcd2")]
    found["two"] = bench.kit.waiting(*both)
    return found | {name: bench.kit.put(status) for name, status in statuses.items()}


@pytest.mark.parametrize(
    ("command", "turns", "money"),
    [
        *((command, "1 to 10,000", "more than 0") for command in ("submit", "run", "retry")),
        ("limit", "[0<=x<=10000]", "[x>=0]"),
    ],
)
def test_the_help_shows_the_range_that_is_taken(cli: CommandLine, command: str, turns: str, money: str) -> None:
    """What it names as the least is taken, and nothing below it: see the rows about --max-turns and --max-cost."""
    of_turns, of_money = (
        " ".join(cli(command, "--help").out.partition(option)[2].partition(" --")[0].split())
        for option in (" --max-turns ", " --max-cost ")
    )
    assert turns in of_turns
    assert money in of_money


@pytest.mark.parametrize("name", ON_SERVER)
def test_on_a_server(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each says where the task stands or what would be right; nothing that is stored changes."""
    row, made = ON_SERVER[name], tasks(bench)
    made["url"] = bench.client.settings.state_url.get_secret_value().partition("?")[0]
    arguments = [argument.format(**made) if "{" in argument else argument for argument in row.call]
    for variable, value in row.environ.items():
        monkeypatch.setenv(variable, value.format(**made))
    before = bench.kit.state()
    assert row.words in complaint(cli(*arguments), row.code)
    assert bench.kit.state() == before


@pytest.mark.parametrize(
    "command", ["show", "attach", "pause", "resume", "cancel", "retry", "checkpoint", "answer", "send"]
)
@pytest.mark.parametrize("task_id", [UNKNOWN, "ffff", ""])
def test_unknown_id(cli: CommandLine, bench: Bench, command: str, task_id: str) -> None:
    """A whole id, a part of one, and nothing at all."""
    arguments = [command, task_id, *(["text"] if command in TEXTS else [])]
    assert "task" in complaint(cli(*arguments), 2)


def test_two_answers(cli: CommandLine, bench: Bench) -> None:
    """The second one is told that it came too late, and is not kept."""
    task_id = tasks(bench)["asked"]
    assert cli("answer", task_id, "blue").code == 0
    kept = bench.kit.inbox(task_id)
    assert [item(raw).text for raw in kept] == ["Blue"]
    assert "it was answered or timed out" in complaint(cli("answer", task_id, "red"), 2)
    assert bench.kit.inbox(task_id) == kept


def test_more_messages_than_a_task_keeps(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is told, and the earlier messages stay."""
    monkeypatch.setenv("NEURAPHAGE_MAX_INBOX_ITEMS", "2")
    task_id = bench.kit.create()
    assert [cli("send", task_id, word).code for word in ("one", "two")] == [0, 0]
    assert "too many unread messages" in complaint(cli("send", task_id, "three"), 2)
    assert [item(raw).text for raw in bench.kit.inbox(task_id)] == ["one", "two"]


def test_a_wrong_password(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    """A refused password is told, without the password."""
    socket = bench.client.settings.state_url.get_secret_value().partition("//")[2]
    bench.kit.client.config_set("requirepass", "right")
    try:
        monkeypatch.setenv("NEURAPHAGE_STATE_URL", f"unix://:{SECRET}@{socket}")
        said = complaint(cli("list"), 1)
    finally:
        bench.kit.client.config_set("requirepass", "")
    assert "password" in said


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

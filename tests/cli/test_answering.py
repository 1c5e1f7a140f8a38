"""`answer` and the listings of what is asked, in this process on a real server."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from clikit import Bench, CommandLine, Ran
from neuraphage.cli.asked_text import LISTED_LINES
from neuraphage.decide.approved_file import as_evidence
from neuraphage.decide.asking import params_summary
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.message import Entry
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import TEXT_MAX_CHARS
from neuraphage.model.tool import FileSight, SightKind
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.ports import Changes, SuspendTo
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.freshness import digest
from storekit import item

IDS = {"t1": "ffff0001aaaa", "t2": "aaaa0002bbbb", "t3": "cccc0003dddd"}
LONG = "\n".join(f"step {number}" for number in range(LISTED_LINES + 50)) + "\nrm -rf everything"
PATH = "".join(f"deep{number}/" for number in range(60)) + "file.txt"


def permission(call_id: str, index: int, tool: str, params: dict[str, Any]) -> Prompt:
    return Prompt(
        prompt_id=IDS[call_id],
        kind=PromptKind.PERMISSION,
        text=f"May {tool} run?",
        options=PERMISSION_OPTIONS,
        tool=tool,
        tool_use_id=call_id,
        params_summary=params_summary(params, BUILTIN_TRAITS.get(tool, ToolTraits())),
        call_index=index,
        opened_at_ms=5,
    )


def asking(
    bench: Bench, folder: Path | None = None, file: FileSight | None = None, **calls: tuple[str, dict[str, Any]]
) -> str:
    """A task whose model has called these tools, each of which asks; about this file, in this folder."""
    task_id = bench.kit.create(folder=None if folder is None else str(folder))
    lease = bench.kit.claim(task_id)
    blocks = [{"type": "tool_use", "id": key, "name": tool, "input": params} for key, (tool, params) in calls.items()]
    prompts = [permission(key, n, tool, params) for n, (key, (tool, params)) in enumerate(calls.items())]
    entry = Entry(role="assistant", content=blocks, turn=0, stop_reason="tool_use")
    journal = [
        ToolEffect(key=key, state=EffectState.PLANNED, tool=tool, evidence=as_evidence(file))
        for key, (tool, _) in calls.items()
    ]
    opened = Changes(entries=(entry,), journal=tuple(journal), prompts_opened=tuple(reversed(prompts)))
    bench.kit.suspend(lease, SuspendTo.WAIT, opened)
    return task_id


@pytest.fixture
def three(bench: Bench) -> str:
    """A task that asks for three calls, whose prompts' ids sort in another order."""
    return asking(
        bench,
        t1=("run_command", {"command": "make deploy"}),
        t2=("write_file", {"content": "text\n" * 50, "path": PATH}),
        t3=("of_a_plugin", {"url": "http://example.invalid"}),
    )


def everything(ran: Ran) -> str:
    """The answer of a command, and its hints."""
    return ran.out + ran.err


def answers(bench: Bench, task_id: str) -> list[tuple[str | None, str]]:
    return [(one.prompt_id, one.text) for one in map(item, bench.kit.inbox(task_id))]


def test_prompts_come_in_the_order_of_the_calls(bench: Bench, three: str) -> None:
    """Whatever their ids are."""
    assert [prompt.tool_use_id for prompt in bench.client.get(three).prompts] == ["t1", "t2", "t3"]


@pytest.mark.parametrize("command", ["list", "show", "why", "attach", "answer"])
def test_every_listing_tells_what_is_asked(cli: CommandLine, three: str, command: str) -> None:
    """The command, the path, in the order of the calls, each with the id that answers it. In a pipe the commands are no
    part of what `list` and `show` answer.
    """
    ran = cli(command, *(() if command == "list" else (three,)))
    assert ("neuraphage answer" in ran.err) is (command in ("list", "show"))
    shown = " ".join(f"{ran.out} {ran.err}".split())
    places = [shown.index(words) for words in ("make deploy", PATH[:60], "http://example.invalid")]
    assert places == sorted(places)
    short = three.rpartition("-")[2]
    for prompt_id in IDS.values():
        assert f"neuraphage answer {short} {prompt_id[:8]} " in shown


def test_one_word_answers_all_of_a_listed_set(cli: CommandLine, bench: Bench, three: str) -> None:
    """By the line that the listing prints; and none of them when one is not open."""
    ids = " ".join(one[:8] for one in IDS.values())
    line = f"all alike: neuraphage answer {three.rpartition('-')[2]} {ids} ANSWER\n"
    assert [line in everything(cli(command, three)) for command in ("answer", "attach", "show")] == [True] * 3
    wrong = cli("answer", three, IDS["t1"], "nosuch1", "no")
    assert wrong.code == 2
    assert answers(bench, three) == []
    assert cli("answer", three, *(one[:8] for one in IDS.values()), "no").out == "answered 3 prompts\n"
    assert sorted(answers(bench, three)) == sorted((one, "no") for one in IDS.values())


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("no: use the other host", "no: use the other host"),
        ("always: make deploy", "always: make deploy"),
        ("always run_command: make *", "always: make *"),
        ('edit: {"command": "make test"}', 'edit: {"command":"make test"}'),
    ],
)
def test_more_than_yes_and_no(cli: CommandLine, bench: Bench, typed: str, sent: str) -> None:
    """Words to the model, and a rule for such calls; what is neither is refused with the forms that there are."""
    task_id = asking(bench, t1=("run_command", {"command": "make deploy"}))
    ran = cli("answer", task_id, IDS["t1"], "yes: please")
    assert ran.code == 2
    assert "`no: WORDS`" in ran.err
    assert cli("answer", task_id, IDS["t1"], typed).code == 0
    assert answers(bench, task_id) == [(IDS["t1"], sent)]


def test_rules_are_proposed_where_something_is_asked(cli: CommandLine, bench: Bench) -> None:
    """By each command that shows a prompt, and in JSON; none for a shell, nor for what was not shown in full."""
    task_id = asking(
        bench,
        Path("/"),
        t1=("run_command", {"command": "pytest -q"}),
        t2=("run_command", {"command": "bash run.sh"}),
        t3=("run_command", {"command": "echo 1\n" * (LISTED_LINES + 1) + "touch hidden"}),
    )
    for command in ("answer", "attach", "show"):
        shown = everything(cli(command, task_id))
        assert "  always: run_command: pytest -q\n  always: run_command: pytest *\n" in shown
        assert "always: run_command: bash" not in shown
        assert ("always: run_command: touch" in shown) is (command == "answer")  # which shows all of it
    found = [prompt["proposed_rules"] for prompt in cli("show", task_id, "--json").json["prompts"]]
    assert found[:2] == [["run_command: pytest -q", "run_command: pytest *"], []]


def test_a_permission_is_answered_by_its_id_only(cli: CommandLine, bench: Bench) -> None:
    """Also when it is the only one: a second `yes` would else go to the next question. The refusal says what works."""
    task_id = asking(bench, t1=("run_command", {"command": "make deploy"}))
    short = task_id.rpartition("-")[2]
    ran = cli("answer", task_id, "yes")
    assert (ran.code, ran.out) == (2, "")
    assert f"`neuraphage answer {short} ffff0001 yes` (run_command: command='make deploy')" in ran.err
    assert answers(bench, task_id) == []
    assert cli("answer", short, "ffff0001", "yes").code == 0
    assert cli("answer", short, "ffff0001", "yes").code == 2
    assert answers(bench, task_id) == [(IDS["t1"], "yes")]


def test_yes_needs_that_all_of_it_was_seen(cli: CommandLine, bench: Bench) -> None:
    """A call that no listing shows in full: `answer TASK` shows it, and --seen says so. A no needs nothing."""
    task_id = asking(bench, t1=("run_command", {"command": LONG}), t2=("run_command", {"command": "ls"}))
    short = task_id.rpartition("-")[2]
    for command in ("show", "attach"):
        shown = everything(cli(command, task_id))
        assert "NOT SHOWN: 51 more lines" in shown
        assert "rm -rf everything" not in shown
        assert f"all of it: neuraphage answer {short}\n" in shown
    for word in ("yes", "always", "y", "A"):
        refused = cli("answer", task_id, IDS["t1"], word)
        assert refused.code == 2
        assert f"see all of it with `neuraphage answer {short}`" in refused.err
    assert cli("answer", task_id, IDS["t2"], IDS["t1"], "yes").code == 2
    assert answers(bench, task_id) == []
    whole = cli("answer", task_id)
    assert whole.code == 3
    assert "rm -rf everything" in whole.out
    assert "NOT SHOWN" not in whole.out
    assert cli("answer", task_id, IDS["t1"], "yes", "--seen").code == 0
    assert cli("answer", task_id, IDS["t2"], "yes").code == 0
    other = asking(bench, t1=("run_command", {"command": LONG}))
    assert cli("answer", other, IDS["t1"], "no").code == 0


def test_json_has_the_whole_text(cli: CommandLine, bench: Bench) -> None:
    """However long a call is."""
    task_id = asking(bench, t1=("run_command", {"command": LONG}), t2=("write_file", {"path": PATH, "content": "x"}))
    last = cli("attach", task_id, "--json")
    for prompts in (
        cli("show", task_id, "--json").json["prompts"],
        cli("show", task_id, "--json").json["detail"]["prompts"],
        cli("list", "--json").json[0]["prompts"],
        json.loads(last.out.splitlines()[-1])["prompts"],
    ):
        assert [prompt["params"] for prompt in prompts] == [{"command": LONG}, {"path": PATH, "content": "x"}]


def test_a_number_answers_as_it_does_in_place(cli: CommandLine, bench: Bench) -> None:
    """The option that the listing shows beside it."""
    which = Prompt(prompt_id="qqqq1", kind=PromptKind.QUESTION, text="Which?", options=("Red", "Blue"))
    task_id = bench.kit.waiting(which)
    assert "  2 = Blue\n" in cli("show", task_id).out
    assert cli("answer", task_id, "2").code == 0
    assert answers(bench, task_id) == [("qqqq1", "Blue")]


def test_a_long_question_is_shown_whole(cli: CommandLine, bench: Bench) -> None:
    """It is shortened where it is stored with the prompt."""
    task_id, lease = bench.kit.running()
    question = "Why? " * 1_000 + "The end."
    block = {"type": "tool_use", "id": "t1", "name": "ask_user", "input": {"question": question}}
    prompt = Prompt(prompt_id="q", kind=PromptKind.QUESTION, text=question[:2_000], tool="ask_user", tool_use_id="t1")
    entry = Entry(role="assistant", content=[block], turn=0, stop_reason="tool_use")
    bench.kit.suspend(lease, SuspendTo.WAIT, Changes(entries=(entry,), prompts_opened=(prompt,)))
    assert "The end." in cli("show", task_id).out


# --- from a file and from standard input ---


class Stdin(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw), encoding="utf-8")


GIVEN = [
    ("Good day\nto you\n", "Good day\nto you"),
    ("\ufeffwith a mark\r\nand CRLF\r\n", "with a mark\nand CRLF"),
    ("caf\u00e9", "caf\u00e9"),
]


@pytest.mark.parametrize(("text", "kept"), GIVEN)
@pytest.mark.parametrize("way", ["-", "--file", "--file -"])
@pytest.mark.parametrize("command", ["answer", "send", "submit"])
def test_a_text_from_elsewhere(
    cli: CommandLine,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    way: str,
    text: str,
    kept: str,
) -> None:
    """Prompt, message and answer, all of its lines."""
    file = tmp_path / "text"
    file.write_bytes(text.encode())
    monkeypatch.setattr("sys.stdin", Stdin(text.encode()))
    where = {"-": ["-"], "--file": ["--file", str(file)], "--file -": ["--file", "-"]}[way]
    task_id = bench.kit.waiting(Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="What?"))
    ran = cli(command, *(() if command == "submit" else (task_id,)), *where)
    assert ran.code == 0, ran.err
    if command == "submit":
        assert bench.client.get(ran.out.strip()).spec.prompt == kept
    else:
        assert [one.text for one in map(item, bench.kit.inbox(task_id))] == [kept]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"caf\xe9", "is not UTF-8 text (byte 4)"),
        (b"x" * (TEXT_MAX_CHARS + 1), f"the limit is {TEXT_MAX_CHARS}"),
        (b"x" * (4 * TEXT_MAX_CHARS + 1), "more than"),
    ],
    ids=["nothing", "blank", "latin-1", "too long", "far too long"],
)
@pytest.mark.parametrize("command", ["answer TASK", "send TASK", "submit", "run"])
def test_a_text_from_elsewhere_that_is_refused(
    cli: CommandLine,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    raw: bytes,
    words: str,
) -> None:
    """Exit 2 with the reason, and nothing is stored."""
    task_id = bench.kit.waiting(Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="What?"))
    file, before = tmp_path / "text", bench.kit.state()
    file.write_bytes(raw)
    named = [task_id if word == "TASK" else word for word in command.split()]
    for where in (["-"], ["--file", str(file)]):
        monkeypatch.setattr("sys.stdin", Stdin(raw))
        ran = cli(*named, *where)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert words in ran.err
        assert ran.err.count("\n") == 1
    assert bench.kit.state() == before


def test_a_listing_knows_whether_the_file_is_there(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """A new file is called one; of a folder that is not on this machine nothing is known."""
    call = ("write_file", {"path": "deep/new.txt", "content": "new\n"})
    new, old = "the file does not exist yet", "the file as it is now is not known here"
    here, elsewhere = asking(bench, tmp_path, t1=call), asking(bench, tmp_path / "away", t1=call)
    for command in ("answer", "show", "attach"):
        assert new in cli(command, here).out
        said = cli(command, elsewhere).out
        assert (new in said, old in said) == (False, True)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new.txt").write_text("old\n", encoding="utf-8")
    said = cli("show", here).out
    assert (new in said, "-old" in said) == (False, True)


def test_what_is_gone_is_no_change_of_what_it_was(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """A file that the conversation has read and somebody removed meanwhile: the call makes a new one."""
    task_id = bench.kit.create(folder=str(tmp_path))
    lease = bench.kit.claim(task_id)
    params = {"path": "a.txt", "content": "new\n"}
    read = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.txt"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "     1\told"}
    write = {"type": "tool_use", "id": "t2", "name": "write_file", "input": params}
    entries = [
        Entry(role="assistant", content=[read], turn=0, stop_reason="tool_use"),
        Entry(role="user", content=[result], turn=0),
        Entry(role="assistant", content=[write], turn=1, stop_reason="tool_use"),
    ]
    opened = (permission("t2", 0, "write_file", params),)
    bench.kit.suspend(lease, SuspendTo.WAIT, Changes(entries=tuple(entries), prompts_opened=opened))
    (tmp_path / "a.txt").write_text("old\n", encoding="utf-8")
    assert "-old" in cli("show", task_id).out
    (tmp_path / "a.txt").unlink()
    said = cli("show", task_id).out
    assert ("-old" in said, "the file does not exist yet" in said) == (False, True)


@pytest.mark.parametrize("before", [b"old\n", None], ids=["a change", "a new file"])
def test_a_file_that_has_changed_since_it_was_asked_about_is_told(
    cli: CommandLine, bench: Bench, tmp_path: Path, before: bytes | None
) -> None:
    """In every listing, and to who says yes: the approval holds for what was there, and nothing is written."""
    path = tmp_path / "a.txt"
    sight = FileSight(path=str(path), kind=SightKind.READ, sha256=digest(before))
    if before is not None:
        path.write_bytes(before)
    task_id = asking(bench, tmp_path, sight, t1=("write_file", {"path": "a.txt", "content": "new\n"}))
    told = "has changed since this was asked: yes writes nothing"
    commands = [("answer", task_id), ("show", task_id), ("attach", task_id)]
    assert not any(told in " ".join(cli(*command).out.split()) for command in commands)
    path.write_bytes(b"somebody else's\n")
    assert all(told in " ".join(cli(*command).out.split()) for command in commands)
    assert told in " ".join(cli("answer", task_id, IDS["t1"], "yes").err.split())

"""The inbox on a real terminal, narrow, usual and wide: asked in place, paged, answered, skipped, left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from test_inbox import asking

from clikit import Bench
from devstack import wait_for
from neuraphage.model.message import Entry
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo
from storekit import MODEL_CALL, item
from terminalkit import Terminal

pytestmark = pytest.mark.real_redis
LONG = "\n".join(f"echo {number}" for number in range(300)) + "\ntouch hidden"
ASKS = r"answer \[no\]:"
Opened = Callable[..., Terminal]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Starts commands on terminals, which are ended with the test."""
    started: list[Terminal] = []

    def start(*arguments: str, columns: int = 80) -> Terminal:
        started.append(Terminal(*arguments, env=os.environ, columns=columns))
        return started[-1]

    yield start
    for one in started:
        one.close()


def answers(bench: Bench, task_id: str) -> list[str]:
    return [one.text for one in map(item, bench.kit.inbox(task_id))]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_prompts_pages_and_answers_at_each_width(bench: Bench, opened: Opened, columns: int) -> None:
    """Nothing is wider than the terminal, every line of a call stands behind a bar, and yes waits for the last line."""
    task_id = asking(bench, "echo " + "word " * 60 + " " * 240 + "; rm -rf ~", LONG)
    inbox = opened("inbox", columns=columns)
    inbox.see(ASKS)
    assert "<241 blanks>; rm -rf ~" in inbox.text
    inbox.type("y")
    inbox.see("NOT SHOWN: 101 more lines")
    inbox.see(ASKS)
    inbox.type("y")
    inbox.see("not all of it was shown")
    inbox.see(ASKS)
    inbox.type("v")
    inbox.see("47 of 301 rows, more")
    inbox.type("")
    inbox.see("94 of 301 rows, more")
    inbox.type("a")
    inbox.see("touch hidden")
    inbox.see(ASKS)
    inbox.type("always")
    inbox.see("nothing more is asked")
    assert inbox.ended() == 0
    assert inbox.too_wide() == []
    bars = [line for line in inbox.lines if "rm -rf" in line or line.strip().endswith("echo 7")]
    assert bars
    assert [line for line in bars if not line.startswith(("  | ", "  : "))] == []
    assert answers(bench, task_id) == ["yes", "always"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_call_is_changed_in_the_inbox(bench: Bench, opened: Opened, columns: int) -> None:
    """At each width; a change that cannot be read is told, and the question stands again."""
    task_id = asking(bench, "make deploy")
    inbox = opened("inbox", columns=columns)
    inbox.see(ASKS)
    inbox.type("edit: make test")
    inbox.see("type y, n,")
    inbox.see(ASKS)
    assert answers(bench, task_id) == []
    inbox.type('edit: {"command": "make test"}')
    inbox.see("nothing more is asked")
    assert inbox.ended() == 0
    assert inbox.too_wide() == []
    assert answers(bench, task_id) == ['edit: {"command":"make test"}']


def test_skip_question_and_quit(bench: Bench, opened: Opened) -> None:
    """What is skipped waits on; where any text is an answer, the keys are words that nobody answers with."""
    first, second = asking(bench, "make one", at_ms=1), asking(bench, "make two", at_ms=2)
    free = bench.kit.waiting(Prompt(prompt_id="qqqq", kind=PromptKind.QUESTION, text="Which?", opened_at_ms=3))
    last = asking(bench, "make last", at_ms=4)
    inbox = opened("inbox")
    inbox.see("make one")
    inbox.see(ASKS)
    inbox.type("s")
    inbox.see("make two")
    inbox.see(ASKS)
    inbox.type("perhaps")
    inbox.see("PATTERN; s skips it,")
    inbox.see(ASKS)
    inbox.type("")
    inbox.see("Which")
    inbox.see("answer:")
    inbox.type("s")
    inbox.see("make last")
    inbox.see(ASKS)
    inbox.type("q")
    inbox.see("1 skipped")
    assert inbox.ended() == 0
    assert [answers(bench, one) for one in (first, second, free, last)] == [[], ["no"], ["s"], []]


def test_like_ones_together(bench: Bench, opened: Opened) -> None:
    """All of them are shown before a second yes allows them; no denies them at once. Those of other tasks stay."""
    other = asking(bench, "make other", at_ms=9)
    task_id = asking(bench, "make one", LONG, "make three", at_ms=1)
    inbox = opened("inbox")
    inbox.see("allow these 3 run_command calls")
    inbox.see(ASKS)
    inbox.type("all")
    inbox.see("47 of 301 rows, more")
    inbox.type("q")
    inbox.see(ASKS)
    inbox.type("all")
    inbox.see("47 of 301 rows, more")
    inbox.type("a")
    inbox.see("make three")
    inbox.see(r"yes to these 3 \[no\]:")
    inbox.type("y")
    inbox.see("make other")
    inbox.see(ASKS)
    inbox.send("\x04")
    assert inbox.ended() == 0
    assert answers(bench, task_id) == ["yes"] * 3
    assert answers(bench, other) == []


def test_somebody_else_was_first(bench: Bench, opened: Opened) -> None:
    """The person is told who, also where their answer was on its way."""
    first, second = asking(bench, "make one", at_ms=1), asking(bench, "make two", at_ms=2)
    inbox = opened("inbox")
    inbox.see("make one")
    inbox.see(ASKS)
    (one,) = bench.client.get(first).prompts
    bench.client.answer(first, "no", prompt_id=one.prompt_id)
    inbox.type("y")
    inbox.see("it was answered elsewhere: ")
    inbox.see("make two")
    inbox.see(ASKS)
    inbox.interrupt()
    assert inbox.ended() == 130
    assert answers(bench, first) == ["no"]
    assert answers(bench, second) == []


def test_a_plain_kill_leaves_the_prompt_open(bench: Bench, opened: Opened) -> None:
    """And nothing is sent."""
    task_id = asking(bench, "make one")
    inbox = opened("inbox")
    inbox.see(ASKS)
    inbox.kill(signal.SIGTERM)
    assert inbox.ended() == 143
    assert answers(bench, task_id) == []


@pytest.mark.parametrize("is_wanted", ["true", "false"])
@pytest.mark.parametrize("command", ["inbox", "attach"])
def test_title_and_bell(
    bench: Bench, opened: Opened, monkeypatch: pytest.MonkeyPatch, command: str, is_wanted: str
) -> None:
    """Once for a prompt, the old title comes back at the end, and a setting turns both off."""
    monkeypatch.setenv("NEURAPHAGE_PROMPT_SIGNAL", is_wanted)
    task_id = asking(bench, "make one")
    shown = opened(command, *([task_id] if command == "attach" else []))
    shown.see(ASKS)
    shown.type("v")
    shown.see("make one")
    shown.see(ASKS)
    shown.send("\x04")
    shown.ended()
    title = f"\x1b]0;neuraphage: {task_id[-12:]} waits for you\x07\x07"
    count = 1 if is_wanted == "true" else 0
    assert [shown.raw.count(codes) for codes in ("\x1b[22;0t", title, "\x07\x07", "\x1b[23;0t")] == [count] * 4
    assert shown.raw.count("\x07") == 2 * count


def said_and_waiting(bench: Bench, talk: Prompt) -> str:
    """A conversation in which the model has said something."""
    task_id, lease = bench.kit.running()
    reply = Entry(role="assistant", content=[{"type": "text", "text": "Hm."}])
    bench.kit.finish(lease, FinishTo.WAIT, Changes(entries=(reply,), add=MODEL_CALL, prompts_opened=(talk,)))
    return task_id


def test_another_try_in_the_inbox(bench: Bench, opened: Opened) -> None:
    """It leaves the list; one that was refused stays on it."""
    talk = Prompt(prompt_id="tttt", kind=PromptKind.CONVERSATION, text="Your turn.")
    task_id = said_and_waiting(bench, talk)
    shown = opened("inbox")
    shown.see("you:")
    shown.type("/retry")
    shown.see("the model is asked again")
    shown.see("nothing more is asked")
    assert shown.ended() == 0
    assert bench.client.get(task_id).status is Status.QUEUED
    silent = bench.kit.waiting(talk)
    shown = opened("inbox")
    shown.see("you:")
    shown.type("/retry")
    shown.see("the model has said")
    shown.see("you:")
    shown.type("/skip")
    assert shown.ended() == 0
    assert bench.client.get(silent).prompts == (talk,)


def test_words_for_the_program(bench: Bench, opened: Opened) -> None:
    """Each alone on a line acts; with anything behind it, and any other word with a slash, it is a message."""
    talk = Prompt(prompt_id="tttt", kind=PromptKind.CONVERSATION, text="Your turn.")
    task_id = bench.kit.waiting(talk)
    attached = opened("attach", task_id)
    attached.see("/pause, /cancel, /retry, /context are for this program")
    attached.see("you:")
    attached.type("/context")
    attached.see("what was asked for")
    attached.see("you:")
    attached.type("/retry")
    attached.see("the model has said")
    attached.see("you:")
    assert answers(bench, task_id) == []
    attached.type("/pause")
    attached.see("paused; go on with")
    assert attached.ended() == 3
    assert bench.client.get(task_id).status is Status.PAUSED
    other = said_and_waiting(bench, talk)
    again = opened("attach", other)
    again.see("you:")
    again.type("/retry")
    again.see("the model is asked again")
    wait_for(lambda: bench.client.get(other).status is Status.QUEUED, "another turn")
    assert [entry.get("supersedes") for entry in bench.client.conversation(other)] == [None, None, 1]
    again.interrupt()
    again.ended()
    assert "answered" not in again.text
    other = bench.kit.waiting(talk)
    again = opened("attach", other)
    again.see("you:")
    again.type("/cancel")
    assert again.ended() == 1
    assert bench.client.get(other).status is Status.CANCELLED
    for line in ("/unknown", "/pause now"):
        third = bench.kit.waiting(talk)
        spoken = opened("attach", third)
        spoken.see("you:")
        spoken.type(line)
        wait_for(lambda third=third: answers(bench, third), "the message")  # type: ignore[misc]  # the loop's own task
        assert answers(bench, third) == [line]
        spoken.interrupt()
        spoken.ended()


def test_no_terminal_no_questions(bench: Bench, opened: Opened) -> None:
    """`--list` asks nothing on a terminal either."""
    asking(bench, "make one")
    listing = opened("inbox", "--list")
    assert listing.ended() == 0
    assert "answer [no]" not in listing.text
    assert "make one" in listing.text

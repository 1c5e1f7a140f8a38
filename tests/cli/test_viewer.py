"""How a task looks while it goes: streaming text, lines of its history, and a terminal of 80 columns."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from neuraphage.cli import run_command
from neuraphage.cli.event_text import event_text
from neuraphage.cli.viewer import BAR, MAX_LINE_CHARS, Viewer
from neuraphage.model.event import Event
from neuraphage.model.sandbox import SandboxKind
from neuraphage.ports import Delta
from neuraphage.settings import Settings

SENTENCE = "The quick brown fox jumps over the lazy dog, " * 4


def viewer(*, terminal: bool, width: int = 80) -> tuple[Viewer, io.StringIO]:
    """A viewer and what it writes."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=terminal, no_color=True, color_system=None, markup=False, soft_wrap=True
    )
    return Viewer(console), file


@pytest.mark.parametrize("chunk", [1, 3, 7, 1_000])
@pytest.mark.parametrize("width", [20, 80])
def test_streaming_text_wraps_at_words(chunk: int, width: int) -> None:
    """However the text is cut into pieces, a terminal shows whole words behind a bar, and loses none."""
    show, file = viewer(terminal=True, width=width)
    for start in range(0, len(SENTENCE), chunk):
        show.delta(Delta("text", SENTENCE[start : start + chunk]))
    show.end_text()
    lines = file.getvalue().splitlines()
    assert all(line.startswith(BAR) and len(line) <= width for line in lines)
    assert " ".join(line.removeprefix(BAR).strip() for line in lines).split() == SENTENCE.split()


def test_pipes_get_the_text_as_it_comes() -> None:
    """No line is broken that the model did not break, and code keeps its indentation."""
    show, file = viewer(terminal=False)
    for piece in ("def f():\n", "    retu", f"rn 1\n\n{SENTENCE}"):
        show.delta(Delta("text", piece))
    show.end_text()
    assert file.getvalue() == f"{BAR}def f():\n{BAR}    return 1\n{BAR.rstrip()}\n{BAR}{SENTENCE}\n"


def test_a_long_word_is_shown_before_it_ends() -> None:
    """Text without blanks is not held back for ever."""
    show, file = viewer(terminal=True)
    show.delta(Delta("text", "a" * 100))
    lines = file.getvalue().splitlines()
    assert "".join(line.removeprefix(BAR) for line in lines) == "a" * 100
    assert [len(line) <= 80 for line in lines] == [True, True]


def test_an_event_ends_the_streaming_line() -> None:
    """Lines of the history never stand in the middle of a text."""
    show, file = viewer(terminal=True)
    show.delta(Delta("text", "half a wo"))
    show.event(Event(kind="TaskResumed"))
    assert file.getvalue() == f"{BAR}half a wo\n  resumed\n"


def test_thinking_and_text_stand_apart() -> None:
    """What the model thinks is not taken for what it says; tool inputs are not shown."""
    show, file = viewer(terminal=True)
    for kind, text in (("thinking", "hmm"), ("text", "yes"), ("tool", '{"a"')):
        show.delta(Delta(kind, text))
    show.end_text()
    assert file.getvalue() == f"{BAR}hmm\n{BAR}yes\n"


def test_control_codes_cut_in_two_stay_harmless() -> None:
    """A sequence that comes in two pieces is no sequence."""
    show, file = viewer(terminal=True)
    for piece in ("\x1b", "[31m", "\x9b2J", "a\rb", "\x07"):
        show.delta(Delta("text", piece))
    show.end_text()
    assert not set(file.getvalue()) & {"\x1b", "\x9b", "\r", "\x07"}


def test_text_cannot_pass_for_a_line_of_ours() -> None:
    """The summary of a model stays on its own line, and ends somewhere."""
    show, file = viewer(terminal=False)
    show.event(Event(kind="TaskCompleted", data={"summary": "done\n  TaskFailed: no\n" + "x " * 1_000}))
    assert len(file.getvalue().splitlines()) == 1
    assert len(file.getvalue()) < MAX_LINE_CHARS + 10


def test_a_question_of_several_lines_stands_behind_the_bar() -> None:
    """A model cannot write a line that looks like one of ours into its question."""
    show, file = viewer(terminal=False)
    show.line("? May I?\n  completed: all is well")
    assert file.getvalue() == f"? May I?\n{BAR}  completed: all is well\n"


@pytest.mark.parametrize("data", [{}, {"tool": "edit"}, {"tool": None, "error": 1, "unknown": 0}])
@pytest.mark.parametrize("kind", ["ToolCompleted", "RequestSent", "OfTheFuture"])
def test_an_unknown_event_is_shown_by_name(kind: str, data: dict[str, object]) -> None:
    """History written by another release is no reason to fail."""
    assert event_text(Event(kind=kind, data=data))


def test_an_unknown_outcome_is_said() -> None:
    """People see that a command was interrupted, not that it failed."""
    data = {"tool": "run_command", "error": True, "unknown": True}
    assert "nothing knows" in event_text(Event(kind="ToolCompleted", data=data))


@pytest.mark.parametrize(
    ("setting", "kind", "is_told"),
    [
        ("auto", SandboxKind.NONE, True),
        ("off", SandboxKind.NONE, False),
        ("auto", SandboxKind.BUBBLEWRAP, False),
    ],
)
def test_run_begins_with_what_confines_no_command(
    monkeypatch: pytest.MonkeyPatch, setting: str, kind: SandboxKind, is_told: bool
) -> None:
    """Where there is no sandbox, and nobody has chosen that."""
    monkeypatch.setattr(run_command, "found_sandbox", lambda _: (kind, "bwrap is not installed"))
    monkeypatch.setattr(run_command, "trust_file", lambda: Path("/nowhere/trust.toml"))
    show, file = viewer(terminal=False)
    run_command._tell_of_safety(Settings(sandbox=setting), None, show)
    assert ("commands run without a sandbox: bwrap is not installed" in file.getvalue()) == is_told

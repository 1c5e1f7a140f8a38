"""Commands that the pages below docs/ show: each is there, with its options. README and RUNBOOK are run as they are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from neuraphage.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"^ *(?:[A-Z_]+=\S+ )*neuraphage (\S.*)$", re.MULTILINE)
INLINE = re.compile(r"`neuraphage ([^`]+)`")


def shown() -> list[tuple[str, str]]:
    """Each command of each page, with the page's name; without forms that stand for several (`a|b`, `[...]`)."""
    found = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = [*SHOWN.findall(text), *(" ".join(line.split()) for line in INLINE.findall(text))]
        found += [(path.name, line) for line in dict.fromkeys(lines) if not re.search(r"[|\[<]|\.\.\.$", line)]
    return found


@pytest.mark.parametrize(("page", "line"), shown(), ids=lambda text: str(text)[:60])
def test_a_shown_command_is_there(page: str, line: str) -> None:
    """Its name, the names of what is below it, and every option; values may be placeholders."""
    words = shlex.split(line, comments=True)
    command: Any = get_command(app)
    context = command.context_class(command, info_name="neuraphage")
    while hasattr(command, "get_command") and words and not words[0].startswith("-"):
        name = words.pop(0)
        below = command.get_command(context, name)
        if below is None and command.invoke_without_command:
            break  # a word that the command itself takes
        assert below is not None, f"{page}: neuraphage {line}: there is no {name!r}"
        command, context = below, below.context_class(below, info_name=name, parent=context)
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used <= options, f"{page}: neuraphage {line}"


def test_every_page_of_commands_is_looked_at() -> None:
    """The pattern finds what is there."""
    pages = {page for page, _ in shown()}
    assert {"graph.md", "hooks.md", "locks.md", "admission.md", "subtasks.md", "events.md"} <= pages

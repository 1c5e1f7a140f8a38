"""No command waits for an editor, a pager or an answer: nobody is there."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.model.tool import ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.command_tool import RunCommand
from neuraphage.tools.environment import clean_environment

HANGS = "#!/bin/sh\nsleep 1000\n"
LIMIT_MS = 60_000
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def run(context: ToolContext, command: str) -> ToolResult:
    """In an environment whose own variables would open an editor, as a developer's shell has them."""
    environ = {**os.environ, "EDITOR": "vi", "VISUAL": "vi", "GIT_EDITOR": "vi", "PAGER": "less"}
    result = RunCommand(environ=environ, extra_names=["EDITOR", "VISUAL", "GIT_EDITOR", "PAGER"]).run(
        {"command": command, "timeout_ms": LIMIT_MS}, replace(context, effect_id=secrets.token_hex(16))
    )
    assert "timed out" not in result.text
    return result


@pytest.fixture
def repository(root: Path, context: ToolContext) -> ToolContext:
    """Two commits and a branch beside them, in a repository whose configuration names an editor that never ends."""
    hang = root.parent / "hang"
    hang.write_text(HANGS, encoding="utf-8")
    hang.chmod(0o755)
    result = run(
        context,
        "git init -q -b main . && git config user.name N && git config user.email n@example.org"
        f" && git config core.editor {hang} && git config sequence.editor {hang} && git config core.pager {hang}"
        f" && git config core.askPass {hang} && git config commit.gpgSign false"
        " && echo 1 > a && git add a && git commit -qm one && echo 2 > a && git commit -qam two"
        " && git switch -qc side HEAD~1 && echo b > b && git add b && git commit -qm side && git switch -q main",
    )
    assert not result.is_error, result.text
    return context


def test_a_commit_without_a_message_ends_and_says_why(repository: ToolContext) -> None:
    """It is not left in an editor, and it makes no commit."""
    result = run(repository, "echo 3 > a; git commit -a")
    assert result.is_error
    assert "empty commit message" in result.text
    assert "one\ntwo" in run(repository, "git log --reverse --format=%s").text


@pytest.mark.parametrize(
    ("command", "subjects"),
    [
        ("git commit -q --amend", ["one", "two"]),
        ("git rebase -q -i HEAD~1", ["one", "two"]),
        ("git merge -q --no-ff --edit side", ["one", "two", "side", "Merge branch 'side'"]),
        ("git revert --edit HEAD", ["one", "two", 'Revert "two"']),
        ("git cherry-pick --edit side", ["one", "two", "side"]),
        ("git tag -a v1 -m v1 && git tag -af v1 v1^{}", ["one", "two"]),
    ],
)
def test_what_has_a_message_takes_it(repository: ToolContext, command: str, subjects: list[str]) -> None:
    """Amending, merging, reverting and rebasing go on with the text that git prepares."""
    result = run(repository, command)
    assert not result.is_error, result.text
    found = run(repository, "git log --reverse --topo-order --format=%s").text.splitlines()[:-1]
    assert sorted(found) == sorted(subjects)


@pytest.mark.parametrize(
    "command",
    [
        "read answer < /dev/tty",
        "read answer",
        "git log -p; git diff HEAD~1; git --paginate log",
        "git clone -q https://user@127.0.0.1:1/none.git there",
        "git add -p",
        "crontab -e || true",
        "man sh || true",
        "ssh -o ConnectTimeout=5 nobody@127.0.0.1 true || true",
        "python3 -c 'input()'",
    ],
)
def test_nothing_waits_for_a_key(repository: ToolContext, command: str) -> None:
    """It ends by itself, one way or the other."""
    run(repository, command)


def test_credentials_are_asked_of_no_program(repository: ToolContext) -> None:
    """A configured askpass program would hang, or show a window on somebody's desk."""
    result = run(repository, "printf 'protocol=https\\nhost=example.org\\n\\n' | git credential fill")
    assert result.is_error
    assert "terminal prompts disabled" in result.text


def test_the_variables_win_over_what_is_passed_on() -> None:
    """Whatever a person lets through by name."""
    environment = clean_environment(
        {"GIT_EDITOR": "vi", "DEBIAN_FRONTEND": "dialog"}, ["GIT_EDITOR", "DEBIAN_FRONTEND"]
    )
    assert environment["GIT_EDITOR"] == environment["GIT_SEQUENCE_EDITOR"] == environment["VISUAL"] == "true"
    assert environment["DEBIAN_FRONTEND"] == "noninteractive"
    assert environment["GIT_ASKPASS"] == ""

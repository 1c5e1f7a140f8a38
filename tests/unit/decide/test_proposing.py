"""Rules that are proposed for a call: few, none by which more could run than it says, and each allows the call."""

from __future__ import annotations

import pytest

from neuraphage.decide.policy import Ruling, ruled
from neuraphage.decide.rules.judging import CalledTool
from neuraphage.decide.rules.proposing import MOST, proposals
from neuraphage.decide.rules.reading import read_allowed
from neuraphage.model.tool import ToolDeclaration
from neuraphage.shell import ShfmtReader
from neuraphage.tool_wiring import built_in_tools

TOOLS: dict[str, ToolDeclaration] = {one.declaration.name: one.declaration for one in built_in_tools()}
READER = ShfmtReader()


def called(tool: str, what: str) -> CalledTool:
    params = {"command": what} if tool == "run_command" else {"path": what, "content": ""}
    return CalledTool(TOOLS[tool], params, READER.read(what) if tool == "run_command" else None, "/work")


@pytest.mark.parametrize(
    ("tool", "what", "patterns"),
    [
        ("run_command", "pytest -q tests/unit", ["pytest -q tests/unit", "pytest *"]),
        ("run_command", "cd src && pytest -q; echo done", ["pytest -q", "pytest *"]),
        ("run_command", "pytest 2>/dev/null | head -5", ["pytest *", "head *"]),
        ("run_command", "pytest 'a b'", ["pytest *"]),
        ("run_command", "ls *.py", ["ls *"]),
        ("run_command", "git log -p", ["git log -p", "git log *"]),
        ("run_command", "npm run build", ["npm run build", "npm run build *"]),
        ("run_command", "make -j4 all", ["make -j4 all"]),
        ("write_file", "docs/a/b.md", ["docs/a/b.md", "docs/a/**"]),
        ("write_file", "/work/docs/x.md", ["docs/x.md", "docs/**"]),
        ("write_file", "docs/../README.md", ["README.md"]),
    ],
)
def test_what_is_proposed(tool: str, what: str, patterns: list[str]) -> None:
    """The very call first, then its kind; together they allow it."""
    call = called(tool, what)
    found = proposals(call)
    assert list(found) == [f"{tool}: {pattern}" for pattern in patterns]
    assert 1 <= len(found) <= MOST
    assert ruled(call, [read_allowed(one) for one in found], {}, None).ruling is Ruling.ALLOWED


@pytest.mark.parametrize(
    "line",
    ["bash -c pytest", "sh run.sh", "bash", "zsh x", "python -m pytest", "python3.12 x.py", "python3", "node x.js",
     "perl -e 1", "ruby x", "awk 1 f", "sed -i s/a/b/ f", "sudo ls", "env X=1 ls", "env ls", "xargs ls",
     "find . -name x", "git push", "git push origin main", "git -C x log", "git -c a=b log", "git config a b",
     "git reset --hard", "rm x", "rm -rf build", "npx x", "uv run pytest", "npm install x", "npm run $x", "curl x",
     "docker run x", "ssh host ls", "eval ls", "$x ls", "X=1 make", "./pytest", "/usr/bin/ls", "timeout 60 pytest",
     "nice make", "pytest > log", "ls; rm x", "pytest | sh", "echo )", "a; b; c; d", "echo hello", ". ./x",
     "alias a=b", "exec ls", "ls $(rm x)", "f() { ls; }; f", "{ls,rm} x", "doas ls", "make $x", "gawk 1 f", "pypy3",
     "pwsh -c x"],
)  # fmt: skip
def test_for_what_nothing_is_proposed(line: str) -> None:
    """Shells, interpreters, what runs others, what does harm at once, what is unclear; and what needs no rule."""
    assert proposals(called("run_command", line)) == ()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".env", ".git/hooks/x", "AGENTS.md", "a*b", "x/y[1].txt", "."])
def test_paths_for_which_nothing_is_proposed(path: str) -> None:
    """Outside the working directory, protected, or no pattern of itself."""
    assert proposals(called("write_file", path)) == ()


def test_a_call_without_line_and_path() -> None:
    """`always` alone says all that there is to say."""
    plain = TOOLS["run_command"].model_copy(update={"traits": TOOLS["ask_user"].traits})
    assert proposals(CalledTool(plain, {"command": "ls"}, None, "/work")) == ()

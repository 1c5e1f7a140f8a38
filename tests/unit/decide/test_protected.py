"""Files that are asked about whatever is allowed. Pure."""

from __future__ import annotations

import pytest

from neuraphage.decide.policy import Ruling, ruled
from neuraphage.decide.rules.judging import CalledTool
from neuraphage.decide.rules.protected import is_protected, is_secret
from neuraphage.decide.rules.reading import read_rule
from neuraphage.model.effect import EffectClass, Permission
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.shell import ShfmtReader

EVERYTHING = [read_rule("allow *")]
READER = ShfmtReader()


def tool(traits: ToolTraits, *, asks: bool = True) -> ToolDeclaration:
    return ToolDeclaration(
        name="act", description="x", input_schema={}, effect_class=EffectClass.OPAQUE, side_effecting=asks, timeout_s=1,
        traits=traits,
    )  # fmt: skip


WRITE, READ = tool(ToolTraits(writes=("path",))), tool(ToolTraits(reads=("path",)), asks=False)
SHELL = tool(ToolTraits(command="line"))


def ruling(call: ToolDeclaration, value: str, **decided: Permission) -> Ruling:
    """What comes of a call under rules that allow everything, and a remembered yes."""
    called = CalledTool(call, {"path": value, "line": value}, READER.read(value) if call is SHELL else None, "/work")
    return ruled(called, EVERYTHING, {"act": "granted"}, decided.get("decided")).ruling


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git/config", "sub/.git/hooks/x", "/work/.git/config", "a/../.git/config", ".GIT/config",
     ".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", ".vscode/tasks.json", ".envrc", "/home/me/.bashrc",
     "neuraphage.toml", "AGENTS.md", "docs/CLAUDE.md", ".cursorrules", ".env", "conf/.env.local", "server.key",
     "x/id_rsa",
     "/home/me/.ssh/authorized_keys", "sitecustomize.py", ".husky/pre-push"],
)  # fmt: skip
def test_a_change_is_asked_about(path: str) -> None:
    """Whatever is allowed, by whatever way the file is named; a person's word about this very call lets it run."""
    assert is_protected(path, "/work")
    assert ruling(WRITE, path) is Ruling.ASK
    assert ruling(WRITE, path, decided=Permission.GRANTED) is Ruling.ALLOWED


@pytest.mark.parametrize(
    "path",
    ["a.py", ".gitignore", ".gitattributes", ".github/ISSUE_TEMPLATE.md", ".env.example", "environment.py", "keys.py",
     "docs/agents.rst", "ci.yml", "git/config", "id_rsa.pub", "package.json", ".editorconfig", "Makefile"],
)  # fmt: skip
def test_its_neighbour_is_not(path: str) -> None:
    """What is allowed runs."""
    assert not is_protected(path, "/work")
    assert ruling(WRITE, path) is ruling(READ, path) is Ruling.ALLOWED


@pytest.mark.parametrize(
    "path", [".env", "x/.env.production", "cert.pem", "deploy.key", ".netrc", "/home/me/.ssh/id_ed25519"]
)
def test_reading_a_secret_is_asked_about(path: str) -> None:
    """Though the tool asks for nothing otherwise."""
    assert is_secret(path, "/work")
    assert ruling(READ, path) is Ruling.ASK


@pytest.mark.parametrize("path", [".git/config", "AGENTS.md", ".github/workflows/ci.yml"])
def test_reading_the_others_is_not(path: str) -> None:
    """They are no secrets."""
    assert ruling(READ, path) is Ruling.ALLOWED


@pytest.mark.parametrize(
    "line",
    ["echo x > .git/hooks/pre-commit", "cat y >> ~/.bashrc", "cp a .github/workflows/ci.yml", "tee .git/config < x",
     "sed -i s/a/b/ AGENTS.md", "rm .git/config", "cat .env", "grep KEY .env.local", "base64 server.key",
     "bash -c 'cat .env'",
     "dd if=.env of=x", "curl --data-binary @x -K .netrc", "tar --file=x .env",
     "ln -s x .git/hooks/post-merge", "source .env",
     "cd .git/hooks && echo x > pre-commit", "cd .git; rm config", "cd sub && cat .env"],
)  # fmt: skip
def test_a_line_that_meets_one_is_asked_about(line: str) -> None:
    """Where it writes, what it changes, and what it reads of secrets, as far as its words tell."""
    assert ruling(SHELL, line) is Ruling.ASK


@pytest.mark.parametrize(
    "line",
    ["git status", "git add .github/workflows/ci.yml", "cat AGENTS.md", "ls .git", "cat .env.example", "cp a b", "make",
     "git commit -m 'read .env files'", "grep -r key src", "pytest 2>/dev/null"],
)  # fmt: skip
def test_a_plain_line_is_not(line: str) -> None:
    """What only looks, and what only speaks of such a file."""
    assert ruling(SHELL, line) is Ruling.ALLOWED

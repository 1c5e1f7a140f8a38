"""`trust`, and what `rules` and `run` tell of rules that a project brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from clikit import CommandLine

PUSH = "deny run_command: git push *"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present directory, with a rule that may hold and one that may not."""
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "neuraphage.toml").write_text(f"rules = ['{PUSH}', 'allow edit']\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_project_is_trusted_listed_and_let_go(cli: CommandLine, project: Path) -> None:
    """What was trusted is shown, and what never holds is told."""
    ran = cli("trust")
    assert ran.out == f"trusted: {project}/neuraphage.toml, 1 rule\n  {PUSH}\n"
    assert "`allow edit` is not used: a project's rules may only deny and ask" in words(ran.err)
    assert cli("trust", str(project)).out.startswith("it is trusted already")
    (row,) = cli("trust", "--list", "--json").json
    assert (row["dir"], row["rules"], row["state"], len(row["sha256"])) == (str(project), [PUSH], "trusted", 64)
    (project / "neuraphage.toml").write_text("rules = []\n", encoding="utf-8")
    ran = cli("trust", "--list")
    assert f"{project}\t1\tchanged" in ran.out
    assert "differs from what you trusted: the rule" not in ran.err
    assert f"`neuraphage trust '{project}'` takes what it says now" in words(ran.err)
    assert cli("trust", "--remove", str(project)).out == f"trusted no longer: {project}\n"
    assert cli("trust", "--list", "--json").json == []


def test_rules_are_listed_and_explained_with_their_source(cli: CommandLine, project: Path) -> None:
    """Untrusted ones are told and not used; also where another directory is named."""
    call = ("rules", "explain", "run_command: git push x", "--json")
    assert "1 rule that is not used, since you have not trusted them" in words(cli("rules", "list").err)
    ran = cli(*call)
    assert (ran.json["ruling"], "not trusted them" in words(ran.err)) == ("ask", True)
    cli("trust")
    (row,) = cli("rules", "list", "--json").json
    assert (row["rule"], row["source"], row["number"], row["dir"]) == (PUSH, "project", None, str(project))
    found = cli(*call).json
    assert (found["ruling"], found["rule"]["source"]) == ("denied", "project")
    assert cli(*call, "--dir", str(project.parent)).json["ruling"] == "ask"
    assert cli("rules", "list", "--dir", str(project.parent), "--json").json == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("/nowhere",), "trust /nowhere: there is no such directory"),
        (("/",), "/ has no neuraphage.toml"),
        (("--remove", "/nowhere"), "/nowhere is not trusted"),
        (("--list", "/"), "it goes with neither"),
        (("--list", "--remove"), "it goes with neither"),
        (("--json",), "--json goes with --list"),
    ],
)
def test_a_wrong_call(cli: CommandLine, project: Path, given: tuple[str, ...], complaint: str) -> None:
    """One line and exit code 2."""
    ran = cli("trust", *given)
    assert (ran.code, complaint in words(ran.err)) == (2, True)


def test_what_cannot_be_read_is_told(cli: CommandLine, project: Path) -> None:
    """And nothing of it is trusted."""
    (project / "neuraphage.toml").write_text("rules = ['permit x']\n", encoding="utf-8")
    ran = cli("trust")
    assert (ran.code, "neuraphage.toml: rule 1: 'permit x' begins with none of" in words(ran.err)) == (2, True)
    assert cli("trust", "--list", "--json").json == []

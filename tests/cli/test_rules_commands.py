"""`rules list` and `rules explain`, and the setting that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from clikit import CommandLine
from neuraphage.configuration import load
from neuraphage.errors import SettingsError
from sandboxkit import find_bubblewrap

RULES = "deny run_command: git push *; allow run_command: pytest *\nask read_file: **/.env*"


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules as a variable holds them."""
    monkeypatch.setenv("NEURAPHAGE_RULES", RULES)


def test_rules_are_listed(cli: CommandLine) -> None:
    """In their order, with what they are about."""
    assert [row["rule"] for row in cli("rules", "list", "--json").json] == [
        "deny run_command: git push *",
        "allow run_command: pytest *",
        "ask read_file: **/.env*",
    ]
    assert "deny\trun_command\tgit push *" in cli("rules", "list").out


@pytest.mark.parametrize(
    ("call", "ruling", "rule", "reasons"),
    [
        ("run_command: pytest -q", "allowed", "allow run_command: pytest *", []),
        ("run_command: pytest && git push", "denied", "deny run_command: git push *", []),
        ("run_command: pytest; ls > x", "ask", None, ["no rule allows ls", "no rule allows > x"]),
        ("run_command: mkfs /dev/sda", "blocked", None, []),
        ("read_file: a/.env", "ask", "ask read_file: **/.env*", []),
        ("read_file: a.py", "allowed", None, []),
        ("edit", "ask", None, []),
        ("edit: .git/hooks/pre-commit", "ask", None, ["it changes .git/hooks/pre-commit, which is protected"]),
    ],
)
def test_a_call_is_explained(cli: CommandLine, call: str, ruling: str, rule: str | None, reasons: list[str]) -> None:
    """What comes of it, by which rule, and what no rule allows."""
    found = cli("rules", "explain", call, "--json").json
    assert (found["ruling"], found["reasons"]) == (ruling, reasons)
    assert (found["rule"] and found["rule"]["rule"]) == rule
    said = cli("rules", "explain", call).out
    assert rule is None or f"`{rule}` of the settings" in " ".join(said.split())


def test_what_a_task_would_be_submitted_with_counts(cli: CommandLine) -> None:
    """--allow, as of run and submit."""
    found = cli("rules", "explain", "run_command: ls -l", "--allow", "run_command: ls *", "--json").json
    assert (found["ruling"], found["rule"]["source"]) == ("allowed", "task")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("nothing: x", "there is no tool"),
        ("run_comand: x", "did you mean run_command?"),
        ("ask_user: x", "neither a command"),
    ],
)
def test_a_call_that_there_is_not(cli: CommandLine, call: str, words: str) -> None:
    """Told in one line, with exit code 2."""
    found = cli("rules", "explain", call)
    assert found.code == 2
    assert words in " ".join(found.err.split())


def test_a_rule_that_cannot_be_read_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process starts with half of the rules."""
    monkeypatch.setenv("NEURAPHAGE_RULES", "deny run_command: x; forbid edit")
    with pytest.raises(
        SettingsError, match="NEURAPHAGE_RULES: 'forbid edit' begins with none of deny, ask, outside, allow"
    ):
        load()


def test_what_the_sandbox_allows_is_explained(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a worker of this machine would judge it: with a sandbox it runs, with a network or without one it asks."""
    find_bubblewrap()
    monkeypatch.setenv("NEURAPHAGE_AUTO_ALLOW_SANDBOXED", "true")
    explained = ("rules", "explain", "run_command: make all", "--json")
    assert cli(*explained).json["ruling"] == "allowed"
    for name, value in (("SANDBOX", "off"), ("ALLOW_HOSTS", "pypi.org")):
        with monkeypatch.context() as other:
            other.setenv(f"NEURAPHAGE_{name}", value)
            assert cli(*explained).json["ruling"] == "ask"


def test_own_rules_are_added_listed_and_removed(cli: CommandLine, tmp_path: Path) -> None:
    """Behind those of the settings, each with where it comes from; only they have a number."""
    assert cli("rules", "add", "allow run_command: ls *", "--dir", str(tmp_path)).out.startswith("added: allow")
    assert cli("rules", "add", "deny edit").code == 0
    assert "there already" in cli("rules", "add", "deny edit").out
    rows = cli("rules", "list", "--json").json
    assert [(row["number"], row["source"], row["dir"]) for row in rows[-3:]] == [
        (None, "settings", None),
        (1, "user", str(tmp_path)),
        (2, "user", None),
    ]
    assert "2\tdeny\tedit\t\tuser\t" in cli("rules", "list").out
    found = cli("rules", "explain", "run_command: ls -l", "--dir", str(tmp_path), "--json").json
    assert (found["ruling"], found["rule"]["source"]) == ("allowed", "user")
    assert cli("rules", "explain", "run_command: ls -l", "--dir", "/", "--json").json["ruling"] == "ask"
    assert cli("rules", "remove", "deny edit").out == "removed: deny edit\n"
    assert cli("rules", "remove", "1").code == 0
    assert len(cli("rules", "list", "--json").json) == 3


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("add", "permit x"), "begins with none of"),
        (("add", "allow edit", "--dir", "/nowhere"), "there is no such directory"),
        (("remove", "7"), "none is number 7"),
        (("remove", "allow edit"), "is none of your rules"),
    ],
)
def test_what_is_wrong_with_a_rule_of_ones_own(cli: CommandLine, words: tuple[str, ...], complaint: str) -> None:
    """One line and exit code 2."""
    ran = cli("rules", *words)
    assert (ran.code, complaint in ran.err) == (2, True)


def test_a_misspelt_tool_is_told(cli: CommandLine) -> None:
    """It is added all the same: workers may have more tools."""
    ran = cli("rules", "add", "deny run_comand")
    assert ran.code == 0
    assert "did you mean run_command?" in ran.err


def test_blocked_hosts_are_listed_and_explained(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As rules of the settings."""
    monkeypatch.setenv("NEURAPHAGE_BLOCKED_HOSTS", "evil.org")
    row = cli("rules", "list", "--json").json[-1]
    assert (row["rule"], row["source"]) == ("deny host: evil.org", "settings")
    found = cli("rules", "explain", "run_command: curl evil.org", "--json").json
    assert (found["ruling"], found["rule"]["rule"]) == ("denied", "deny host: evil.org")

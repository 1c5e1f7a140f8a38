"""Rules: how they are written, which calls they are about, and which of several holds. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.policy import Ruling, ruled
from neuraphage.decide.rules.judging import CalledTool, outside_rule
from neuraphage.decide.rules.matching import fits_path
from neuraphage.decide.rules.reading import MOST_CHARS, read_allowed, read_rule, rules_of
from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectClass, Permission
from neuraphage.model.rule import Rule, RuleEffect, RuleSource
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.shell import ShfmtReader

READER = ShfmtReader()
SHELL = ToolDeclaration(
    name="run_command", description="x", input_schema={}, effect_class=EffectClass.OPAQUE, side_effecting=True,
    timeout_s=1, traits=ToolTraits(command="command"),
)  # fmt: skip
WRITE = SHELL.model_copy(update={"name": "write_file", "traits": ToolTraits(writes=("path",))})
READ = SHELL.model_copy(update={"name": "read_file", "side_effecting": False, "traits": ToolTraits(reads=("path",))})
PLAIN = SHELL.model_copy(update={"name": "charge", "traits": ToolTraits()})


CONFINED = SHELL.model_copy(update={"confined": True})


def says(
    rules: list[str], call: ToolDeclaration, value: str = "", *, allow: tuple[str, ...] = (), **decided: Any
) -> tuple[Ruling, str]:
    """What comes of a call, and the rule that says so."""
    has_line = call.traits.command is not None
    params = {"command": value} if has_line else {"path": value}
    line = READER.read(value) if has_line else None
    called = CalledTool(call, params, line, "/work", frozenset({"write_file"}))
    found = ruled(called, [*map(read_rule, rules), *rules_of(allow)], decided.get("grants", {}), decided.get("decided"))
    return found.ruling, str(found.rule or "")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("deny run_command: git push *", Rule(effect=RuleEffect.DENY, tool="run_command", pattern="git push *")),
        ("  ASK   edit ", Rule(effect=RuleEffect.ASK, tool="edit")),
        ("allow *", Rule(effect=RuleEffect.ALLOW, tool="*")),
        ("allow run_command: echo a: b", Rule(effect=RuleEffect.ALLOW, tool="run_command", pattern="echo a: b")),
    ],
)
def test_rules_are_read(text: str, rule: Rule) -> None:
    """Effect, tool and pattern; what is written out is read again as the same."""
    assert read_rule(text) == rule == read_rule(str(rule))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begins with none of deny, ask, outside, allow"),
        ("permit edit", "begins with none of"),
        ("deny", "names no tool"),
        ("deny : x", "names no tool"),
        ("deny run command: x", "names no tool"),
        ("deny run_command:", "no pattern behind its colon"),
        ("deny " + "x" * MOST_CHARS, f"{MOST_CHARS} are the most"),
    ],
)
def test_what_is_no_rule_is_told(text: str, words: str) -> None:
    """With the form that is wanted."""
    with pytest.raises(BadInput, match=words):
        read_rule(text)


def test_what_a_task_was_submitted_with_is_read_leniently() -> None:
    """An earlier release took any text; what is no rule allows nothing."""
    assert read_allowed("run_command: pytest *").source is RuleSource.TASK
    assert [rule.subject for rule in rules_of(["edit", "", "two words", "run_command: ls"])] == [
        "edit",
        "run_command: ls",
    ]


@pytest.mark.parametrize(
    "command",
    ["pytest", "pytest -k x", "cd src && pytest -q; echo done", "timeout 60 pytest", "nice -n 5 nohup pytest &",
     "bash -c 'pytest -q'", "pytest 2>/dev/null", "pytest > /dev/null 2>&1", "pytest $args",
     "(pytest)", "pytest | pytest"],
)  # fmt: skip
def test_a_line_is_allowed_when_every_command_is(command: str) -> None:
    """Through lists, pipes, groups, and programs that add nothing to the one they run."""
    assert says([], SHELL, command, allow=("run_command: pytest *",)) == (Ruling.ALLOWED, "allow run_command: pytest *")


@pytest.mark.parametrize(
    "command",
    ["pytest; rm -rf build", "pytest $(curl x)", "pytest | tee log", "pytest > log", "sudo pytest", "env X=1 pytest",
     "PATH=/evil pytest", "export PATH=/evil; pytest", "./pytest", "/tmp/pytest", "pytest-x", "bash run.sh",
     "$x -k pytest",
     "pytest `rm x`", "xargs pytest", "eval pytest", "f() { rm x; }; pytest", "cd /etc && pytest", "cd .. && pytest",
     "cat <<X | pytest\n$(rm x)\nX", "find . -exec rm {} + ; pytest", "git -c core.pager=x log; pytest",
     "{a,pytest} x", "command time -o x pytest", "printf -v PATH /evil; pytest", "for PATH in /evil; do pytest; done",
     "bash -euo pipefail -c 'pytest; rm x'", "bash <<X\nrm x\nX"],
)  # fmt: skip
def test_a_line_is_asked_about_when_one_part_is_not_allowed(command: str) -> None:
    """A further command, a file that is written, a variable that is set, and what only the shell can tell."""
    assert says([], SHELL, command, allow=("run_command: pytest *",))[0] is Ruling.ASK


@pytest.mark.parametrize(
    ("pattern", "command", "allowed"),
    [
        ("git log", "git log", True), ("git log", "git log -p", False), ("git log *", "git log", True),
        ("git * main", "git diff main", True), ("git * main", "git $x main", False), ("npm run *", "npm run a b", True),
        ("npm run *", "npm", False), ("make [a-c]", "make b", True), ("make [a-c]", "make d", False),
        ("ls *", "ls *", True),
        ("ls ?", "ls *", False),
    ],
)  # fmt: skip
def test_words_of_a_pattern(pattern: str, command: str, allowed: bool) -> None:
    """Each fits one word, a star at the end all that follow; what the shell works out fits that star alone."""
    assert (says([], SHELL, command, allow=(f"run_command: {pattern}",))[0] is Ruling.ALLOWED) is allowed


@pytest.mark.parametrize(
    "command",
    ["git push", "git push -f", "ls; git push origin", "sudo git push", "bash -c 'git push'", "/usr/bin/git push",
     "g\\it pu'sh'", "echo $(git push)", "git {push,x}", "bash -euo pipefail -c 'git push'", "bash -ce 'git push'",
     "sudo -nu me git push", "timeout --sig 9 5 git push", "bash <<X\ngit push\nX", "echo git push | sh"],
)  # fmt: skip
def test_a_line_is_denied_when_one_command_may_be(command: str) -> None:
    """Wherever it stands in the line, by whatever path it is called, and however it is quoted."""
    rules = ["deny run_command: git push *", "allow run_command"]
    assert says(rules, SHELL, command) == (Ruling.DENIED, "deny run_command: git push *")


@pytest.mark.parametrize("command", ["git log", "echo git push", "git commit -m 'git push'", "cat <<'X'\ngit push\nX"])
def test_its_neighbour_is_not_denied(command: str) -> None:
    """Another command, and texts that speak of it."""
    assert says(["deny run_command: git push *", "allow run_command"], SHELL, command)[0] is Ruling.ALLOWED


def test_what_may_hide_a_denied_command_is_asked_about() -> None:
    """Although every command is allowed: what it runs is not certain, and something is denied."""
    for command in ("eval $x", "bash run.sh", "$x push", "git $x", ". ./x", "echo )"):
        assert says(["deny run_command: git push *", "allow run_command"], SHELL, command)[0] is Ruling.ASK
    assert says(["allow run_command"], SHELL, "bash run.sh")[0] is Ruling.ALLOWED


@pytest.mark.parametrize(
    ("rules", "ruling"),
    [
        (["allow run_command", "ask run_command: ls *", "deny run_command: ls *"], Ruling.DENIED),
        (["allow run_command", "ask run_command: ls *"], Ruling.ASK),
        (["allow run_command: ls *", "ask *"], Ruling.ASK),
        (["allow *"], Ruling.ALLOWED),
        (["allow edit"], Ruling.ASK),
        ([], Ruling.ASK),
    ],
)
def test_deny_beats_ask_and_ask_beats_allow(rules: list[str], ruling: Ruling) -> None:
    """In whatever order they are written."""
    assert says(rules, SHELL, "ls -l")[0] is ruling
    assert says(rules[::-1], SHELL, "ls -l")[0] is ruling


def test_a_persons_word_beats_all_but_a_denial() -> None:
    """About this very call. A remembered yes does not beat a rule that asks; a remembered no beats one that allows."""
    yes, no = Permission.GRANTED, Permission.DENIED
    assert says(["ask run_command"], SHELL, "ls", decided=yes)[0] is Ruling.ALLOWED
    assert says(["deny run_command"], SHELL, "ls", decided=yes)[0] is Ruling.DENIED
    assert says(["allow run_command"], SHELL, "ls", decided=no)[0] is Ruling.DENIED
    assert says(["ask run_command"], SHELL, "ls", grants={"run_command": yes.value})[0] is Ruling.ASK
    assert says(["allow run_command"], SHELL, "ls", grants={"run_command": no.value})[0] is Ruling.DENIED
    assert says([], SHELL, "ls", grants={"run_command": yes.value})[0] is Ruling.ALLOWED


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("docs/**", "docs/a/b.md", True), ("docs/**", "docs", False), ("docs/*", "docs/a/b.md", False),
        ("**/*.md", "a.md", True), ("**/*.md", "x/y/a.md", True), ("*.md", "x/a.md", False), ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True), ("docs/**", "docs/../secret", False), ("docs/**", "/work/docs/a", True),
        ("docs/**", "/etc/docs/a", False), ("docs/**", "../work/docs/a", True),
        ("**", "../x", False), ("a.c", "abc", False),
        ("/etc/**", "/etc/passwd", True), ("/etc/**", "../etc/passwd", True),
        ("./a", "a", True), ("?.txt", "a.txt", True),
    ],
)  # fmt: skip
def test_patterns_of_paths(pattern: str, path: str, fits: bool) -> None:
    """Below the working directory, whatever way leads there; a star stays within a directory."""
    assert fits_path(pattern, path, "/work") is fits


def test_paths_are_allowed_and_denied() -> None:
    """Of tools that write, and of those that only read, which need no asking otherwise."""
    assert says([], WRITE, "docs/a.md", allow=("write_file: docs/**",))[0] is Ruling.ALLOWED
    assert says([], WRITE, "src/a.py", allow=("write_file: docs/**",))[0] is Ruling.ASK
    assert says(["deny read_file: **/.env*"], READ, "a/.env.local")[0] is Ruling.DENIED
    assert says(["ask read_file: **/.env*"], READ, ".env")[0] is Ruling.ASK
    assert says(["deny read_file: **/.env*"], READ, "a.py")[0] is Ruling.ALLOWED


def test_a_line_writes_what_the_tools_that_write_may() -> None:
    """A redirect is a write of its target."""
    allow = ("run_command: make *", "write_file: out/**")
    assert says([], SHELL, "make x > out/log 2>> out/err", allow=allow)[0] is Ruling.ALLOWED
    assert says([], SHELL, "make x > src/log", allow=allow)[0] is Ruling.ASK
    assert says([], SHELL, "make x > $y", allow=allow)[0] is Ruling.ASK
    assert says([], SHELL, "cd src && make x > out/log", allow=allow)[0] is Ruling.ASK


def test_a_pattern_where_there_is_nothing_to_match() -> None:
    """A tool without a line and without paths: nothing is allowed by a pattern, and anything is denied."""
    assert says(["allow charge: x"], PLAIN)[0] is Ruling.ASK
    assert says(["deny charge: x"], PLAIN)[0] is Ruling.DENIED


@pytest.mark.parametrize("rule", ["allow run_command: @sandboxed", "allow *: @sandboxed"])
def test_what_runs_in_a_sandbox_without_a_network_may_be_allowed_as_such(rule: str) -> None:
    """Also what no pattern could allow; the same line without the sandbox is asked about."""
    line = "$x; make > out; PATH=y ./configure"
    assert says([rule], CONFINED, line) == (Ruling.ALLOWED, rule)
    assert says([rule], SHELL, line)[0] is Ruling.ASK
    assert says([], CONFINED, line)[0] is Ruling.ASK
    assert says([rule], WRITE, "a")[0] is Ruling.ASK
    assert says([rule], SHELL, "@sandboxed")[0] is Ruling.ASK


@pytest.mark.parametrize(
    ("rules", "line", "ruling"),
    [
        (["deny run_command: git push *"], "git push", Ruling.DENIED),
        (["ask run_command: make *"], "make", Ruling.ASK),
        (["deny run_command: git push *"], "$x push", Ruling.ASK),
        ([], "echo x > .git/hooks/pre-commit", Ruling.ASK),
        ([], "echo )", Ruling.ASK),
        ([], " ".join(("rm", "-rf", "/")), Ruling.BLOCKED),
    ],
)
def test_a_sandbox_allows_nothing_that_is_forbidden_or_asked_about(rules: list[str], line: str, ruling: Ruling) -> None:
    """What is denied, asked about, protected, unread or never runs stays so."""
    assert says(["allow *: @sandboxed", *rules], CONFINED, line)[0] is ruling


@pytest.mark.parametrize(
    ("line", "is_outside"),
    [
        ("docker ps", True),
        ("docker build . && docker push x", True),
        ("cd sub && timeout 5 docker ps", True),
        ("bash -c 'docker ps'", True),
        ("docker ps | tee out", False),
        ("docker ps > out", False),
        ("docker ps; curl example.com", False),
        ("docker ps $(cat x)", False),
        ("./docker ps", False),
        ("PATH=. docker ps", False),
        ("echo docker", False),
        ("podman ps", False),
    ],
)
def test_a_line_runs_outside_only_if_each_command_may(line: str, is_outside: bool) -> None:
    """What could be another command keeps all of it inside."""
    rule = read_rule("outside run_command: docker *")
    called = CalledTool(CONFINED, {"command": line}, READER.read(line), "/work")
    assert (outside_rule(called, [rule]) is not None) is is_outside


@pytest.mark.parametrize("allow", [("*",), ("run_command: docker *",), ("*: @sandboxed",)])
def test_what_runs_outside_is_asked_about_whatever_is_allowed(allow: tuple[str, ...]) -> None:
    """Also what is remembered of a person's answers."""
    rule = "outside run_command: docker *"
    found = says([rule], CONFINED, "docker ps", allow=allow, grants={"run_command": "granted"})
    assert found == (Ruling.ASK, rule)


def test_a_rule_that_lets_everything_out_is_refused() -> None:
    """The setting `sandbox` says so for all."""
    with pytest.raises(BadInput, match="names no command"):
        read_rule("outside run_command")

"""What a command line runs, as it is read: words, what stands in words, and what only the shell can tell."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import psutil
import pytest

from neuraphage import wiring
from neuraphage.model.shell import HOME, ShellLine
from neuraphage.shell import ShfmtReader
from neuraphage.shell.reader import MOST_BYTES, MOST_LINES, find_shfmt

READER = ShfmtReader()


def read(line: str) -> ShellLine:
    """A line that can be read."""
    found = READER.read(line)
    assert found is not None
    return found


def commands(line: str) -> list[str]:
    """Each command with the texts of its words, and what runs it before it."""
    return [
        "".join(f"{name}>" for name in one.within) + " ".join(word.text or "?" for word in one.words)
        for one in read(line).commands
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a && b | c; d &", ["a", "b", "c", "d"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("x=$(a) b `c` <(d)", ["b ? ?", "a", "c", "d"]),
        ("sudo -u me A=1 a b", ["sudo -u me A=1 a b", "sudo>a b"]),
        ("env -u X A=1 nohup a", ["env -u X A=1 nohup a", "env>nohup a", "env>nohup>a"]),
        ("timeout -k 5 9 a", ["timeout -k 5 9 a", "timeout>a"]),
        ("xargs -n 1 a b", ["xargs -n 1 a b", "xargs>a b"]),
        ("command -v a", ["command -v a"]),
        ("find . -exec a {} + -exec b {} ;", ["find . -exec a {} + -exec b {} ;"[:-2], "find>a {}", "find>b {}"]),
        ("bash -c 'a; b'", ["bash -c a; b", "bash>a", "bash>b"]),
        ("nice sh -c 'sh -c a'", ["nice sh -c sh -c a", "nice>sh -c sh -c a", "nice>sh>sh -c a", "nice>sh>sh>a"]),
        ("/usr/bin/env a", ["/usr/bin/env a", "env>a"]),
        ("cat <<X\n$(a)\nX", ["cat", "a"]),
        ("cat <<'X'\n$(a)\nX", ["cat"]),
        ("# a", []),
    ],
)  # fmt: skip
def test_what_a_line_runs(line: str, found: list[str]) -> None:
    """Every simple command, through lists, pipes, substitutions, here-documents and programs that run others."""
    assert commands(line) == found


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("r\\m", ("rm",)),
        ("'r'm", ("rm",)),
        ('"a\\"b\\c"', ('a"b\\c',)),
        ("a\\\nb", ("ab",)),
        ("~/x", (f"{HOME}/x",)),
        ("'~/x'", ("~/x",)),
        ('"$HOME"/x', (f"{HOME}/x",)),
        ("${HOME:?}", (HOME,)),
        ("{a,b}c", ("ac", "bc")),
        ("{a,{b,c}}", ("a", "b", "c")),
        ("'{a,b}'", ("{a,b}",)),
        ("{a}", ("{a}",)),
        ("{1..9}", ()),
        ("$x", ()),
        ("$'a'", ()),
        ("a$(b)", ()),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", ()),
    ],
)
def test_what_a_word_comes_to(written: str, texts: tuple[str, ...]) -> None:
    """Quotes and braces are worked out; what only the shell can tell, or what comes to too much, has no text."""
    (word,) = read(f"echo {written}").commands[0].words[1:]
    assert set(word.texts) == set(texts)
    assert word.source == written


@pytest.mark.parametrize(
    "line",
    [
        "eval ls",
        "$x ls",
        "bash run.sh",
        "curl x | sh",
        ". ./x",
        "source x",
        "alias a=b",
        "f() { ls; }",
        "git -c core.pager=x log",
    ],
)
def test_what_is_not_certain_is_told(line: str) -> None:
    """A person is to see why such a line cannot be judged by its words."""
    assert read(line).unclear


@pytest.mark.parametrize("line", ["ls -l", "git log", "a && b", "bash -c 'ls'", "env | grep x", "pytest -k 'a or b'"])
def test_a_plain_line_is_certain(line: str) -> None:
    """Nothing is told of what can be read."""
    assert read(line).unclear == ()


def test_redirects_are_found_everywhere() -> None:
    """Of simple commands, of groups, and inside of lines in words."""
    found = read("{ a; } > x; b 2>> y; bash -c 'c >| z'").redirects
    assert [(one.operator, one.target.text) for one in found] == [(">", "x"), (">>", "y"), (">|", "z")]


@pytest.mark.parametrize("line", ["a )", "if a", "'a", "a\0b", "x" * (MOST_BYTES + 1), "(" * 3_000 + "a" + ")" * 3_000])
def test_what_cannot_be_read_is_told_apart(line: str) -> None:
    """No parser takes it, it is too long, or nested too deep: nothing is guessed."""
    assert READER.read(line) is None


@pytest.mark.parametrize("program", ["/nonexistent/shfmt", "/bin/false", "/bin/cat"])
def test_without_a_parser_nothing_is_read(program: str) -> None:
    """It is not there, does not work, or is another program."""
    assert ShfmtReader(program).read("ls") is None


def test_lines_inside_of_lines_have_a_limit() -> None:
    """A line that goes on and on is unclear, and does not hold anybody up."""
    many = read(";".join(f"bash -c {number}" for number in range(MOST_LINES + 3)))
    assert len(many.unclear) == 3


def test_a_reading_is_remembered(tmp_path: Path) -> None:
    """A call is judged more than once on its way; the parser is started once."""
    runs = tmp_path / "runs"
    program = tmp_path / "shfmt"
    program.write_text(f'#!/bin/sh\necho >> {runs}\nexec {READER._program} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    reader = ShfmtReader(str(program))
    assert reader.read("ls") == reader.read("ls") == read("ls")
    assert runs.read_text(encoding="utf-8") == "\n"


def test_a_worker_without_a_parser_says_so(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Else nobody could tell why each command is asked about."""
    assert wiring.build_shell().read("ls") == read("ls")
    assert caplog.text == ""
    monkeypatch.setattr("neuraphage.shell.reader.find_shfmt", lambda: None)
    assert wiring.build_shell().read("ls") is None
    assert "install shfmt-py again" in caplog.text


def test_the_parser_is_found_where_another_environment_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its package knows where its program is, also when that is not beside this Python; last comes PATH."""
    beside = find_shfmt()
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    found = find_shfmt()
    assert found is not None
    assert beside is not None
    assert Path(found).resolve() == Path(beside).resolve()

    def missing(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr("neuraphage.shell.reader.distribution", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_shfmt() is None
    (tmp_path / "shfmt").symlink_to(beside)
    assert find_shfmt() == str(tmp_path / "shfmt")


def program(folder: Path, text: str) -> str:
    """A program in place of the parser."""
    made = folder / "parser"
    made.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    made.chmod(0o755)
    return str(made)


def test_a_wait_that_ran_out_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tool may hold the interpreter for longer than any wait: what the parser has written meanwhile counts."""
    monkeypatch.setattr("neuraphage.shell.reader.WAIT_S", 0.001)
    monkeypatch.setattr("neuraphage.shell.reader.MOST_WAITS", 1_000_000)
    slow = program(tmp_path, f'/bin/sleep 0.3; exec {READER._program} "$@"')
    assert ShfmtReader(slow).read("ls; echo x") == read("ls; echo x")


@pytest.mark.parametrize(("limit", "value"), [("MOST_CPU_S", 0.05), ("MOST_WAITS", 3)])
def test_a_parser_that_comes_to_no_end_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, value: float
) -> None:
    """By what it has taken of the processor, or after very long; the line counts as one that cannot be read."""
    monkeypatch.setattr("neuraphage.shell.reader.WAIT_S", 0.05)
    monkeypatch.setattr(f"neuraphage.shell.reader.{limit}", value)
    assert ShfmtReader(program(tmp_path, "while :; do :; done")).read("ls") is None
    assert [one for one in psutil.Process().children() if "parser" in " ".join(one.cmdline())] == []

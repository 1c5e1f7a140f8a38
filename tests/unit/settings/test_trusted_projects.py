"""Rules of a project: what may stand there, when they hold, and what a change of the file takes away (nothing)."""

from __future__ import annotations

import logging
import os
import stat
import threading
from pathlib import Path

import pytest

from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import RuleSource
from neuraphage.project_rules import MOST_PROJECT_RULES, read_project_file
from neuraphage.project_standing import Trust, standing_of
from neuraphage.trusted_projects import MOST_PROJECTS, TrustedRules, distrust, read_trusted, trust, trust_file

PUSH, EDIT = "deny run_command: git push *", "ask edit: src/**"


@pytest.fixture
def project(tmp_path: Path) -> str:
    """A directory with two rules."""
    folder = tmp_path / "project"
    folder.mkdir()
    rules(str(folder), PUSH, EDIT)
    return str(folder)


def rules(directory: str, *texts: str, more: str = "") -> None:
    Path(directory, "neuraphage.toml").write_text(f"rules = {list(texts)!r}\n{more}", encoding="utf-8")


def held(directory: str | None) -> list[str]:
    return [str(rule) for rule in TrustedRules(trust_file()).of(directory)]


def told(directory: str) -> str:
    return "\n".join(standing_of(directory, trust_file()).told())


def test_they_hold_once_they_are_trusted(home: Path, project: str) -> None:
    """In this very directory; the person's file is for them alone, whatever the umask."""
    assert held(project) == []
    assert f"{project}/neuraphage.toml has 2 rules that are not used" in told(project)
    assert f"`neuraphage trust {project}`" in told(project)
    before = os.umask(0)
    try:
        file, is_news = trust(trust_file(), project)
    finally:
        os.umask(before)
    assert (is_news, len(file.rules)) == (True, 2)
    assert trust_file() == home / "trust.toml"
    assert stat.S_IMODE(trust_file().stat().st_mode) == 0o600
    assert held(project) == [PUSH, EDIT]
    assert (held(f"{project}/below"), held(str(Path(project).parent)), held(None)) == ([], [], [])
    assert {rule.source for rule in TrustedRules(trust_file()).of(project)} == {RuleSource.PROJECT}
    assert told(project) == ""
    assert trust(trust_file(), project)[1] is False, "it is trusted already"


@pytest.mark.parametrize("change", ["none of them", "other rules", "another line", "broken", "gone", "a folder"])
def test_no_change_of_the_file_takes_a_rule_away(project: str, change: str) -> None:
    """Else a task that may write it could; nor does it add one. People are told, until they trust what it says now."""
    trust(trust_file(), project)
    file = Path(project, "neuraphage.toml")
    match change:
        case "none of them":
            rules(project)
        case "other rules":
            rules(project, "deny write_file")
        case "another line":
            rules(project, PUSH, EDIT, more="max_turns = 3\n")
        case "broken":
            file.write_text("rules = [", encoding="utf-8")
        case _:
            file.unlink()
    if change == "a folder":
        file.mkdir()
    assert held(project) == [PUSH, EDIT]
    assert standing_of(project, trust_file()).trust is Trust.CHANGED
    assert "the 2 rules that you trusted go on to hold" in told(project)
    if change == "other rules":
        assert trust(trust_file(), project)[1]
        assert (held(project), told(project)) == (["deny write_file"], "")


@pytest.mark.parametrize("name", ["a\x7fb", 'a"b', "a\\b", "a\nb", "a\x1bb", "a\x85b", "a\u2028b", "a'b", "\U0001f600"])
def test_a_directory_may_have_any_name(tmp_path: Path, name: str) -> None:
    """What is written of one is read again; else one odd name would keep every worker from starting."""
    folder = tmp_path / name
    folder.mkdir()
    rules(str(folder), PUSH)
    trust(trust_file(), str(folder))
    assert [one.directory for one in read_trusted(trust_file())] == [str(folder)]
    assert held(str(folder)) == [PUSH]


def test_a_link_leads_to_what_is_trusted(project: str, tmp_path: Path) -> None:
    """By whatever name a task works there; and a directory that became a link keeps its own rules, too."""
    link = tmp_path / "link"
    link.symlink_to(project)
    trust(trust_file(), project)
    assert held(str(link)) == [PUSH, EDIT]
    other = tmp_path / "other"
    Path(project).rename(other)
    Path(project).symlink_to(other)
    assert held(project) == [PUSH, EDIT]


@pytest.mark.parametrize("text", ["allow run_command", "outside run_command: docker *"])
def test_they_only_tighten(project: str, text: str) -> None:
    """What a cloned repository would allow itself is told, trusted or not, and never used."""
    rules(project, text, PUSH)
    for _ in range(2):
        assert f"`{text}` is not used: a project's rules may only deny and ask" in told(project)
        trust(trust_file(), project)
        assert held(project) == [PUSH]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules = 7", "a list of texts"),
        ("rules = [7]", "rule 1: write a text"),
        ('rules = ["deny edit", "deny a\\tb"]', "rule 2: write a text"),
        ('rules = ["permit x"]', "rule 1: 'permit x' begins with none of"),
        ("rules = [", "no TOML"),
        (f"rules = {['deny edit'] * (MOST_PROJECT_RULES + 1)}", "at most"),
    ],
)
def test_what_cannot_be_read_is_not_trusted(project: str, text: str, words: str) -> None:
    """Not even in part: the person would not know what holds."""
    file = Path(project, "neuraphage.toml")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=words) as caught:
        trust(trust_file(), project)
    assert str(file) in str(caught.value)
    assert words in told(project)
    assert not trust_file().exists()


def test_what_is_not_there_is_not_trusted(tmp_path: Path) -> None:
    """A directory without a file of its own; and nothing is said of it."""
    with pytest.raises(BadInput, match=r"has no neuraphage\.toml"):
        trust(trust_file(), str(tmp_path))
    assert told(str(tmp_path)) == ""
    with pytest.raises(BadInput, match="is not trusted"):
        distrust(trust_file(), str(tmp_path))


def test_trust_is_taken_back(project: str, tmp_path: Path) -> None:
    """Of one directory alone, also when it is gone."""
    other = tmp_path / 'ö"\\her'
    other.mkdir()
    rules(str(other), "deny edit")
    for directory in (project, str(other)):
        trust(trust_file(), directory)
    Path(other, "neuraphage.toml").unlink()
    other.rmdir()
    assert held(str(other)) == ["deny edit"]
    distrust(trust_file(), str(other))
    assert (held(str(other)), held(project)) == ([], [PUSH, EDIT])


def test_a_change_is_seen_at_the_next_look(project: str, caplog: pytest.LogCaptureFixture) -> None:
    """No restart. What breaks the person's file takes nothing away, and it is said once."""
    own = TrustedRules(trust_file())
    assert own.of(project) == ()
    trust(trust_file(), project)
    assert len(own.of(project)) == 2
    whole = trust_file().read_text(encoding="utf-8")
    trust_file().write_text(whole + "[[projects", encoding="utf-8")
    with caplog.at_level(logging.ERROR):
        assert [len(own.of(project)) for _ in range(2)] == [2, 2]
    assert len(caplog.records) == 1
    trust_file().write_text(whole, encoding="utf-8")
    distrust(trust_file(), project)
    assert own.of(project) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "tables"),
        ("[[projects]]\n", "project 1: it has dir, sha256 and rules"),
        ('[[projects]]\ndir = "a"\nsha256 = ""\nrules = []\n', "no absolute path"),
        ('[[projects]]\ndir = "/a"\nsha256 = ""\nrules = ["allow edit"]\n', "may only deny and ask"),
    ],
)
def test_a_file_of_trust_that_cannot_be_read_is_told(text: str, words: str) -> None:
    """With its place; a worker does not begin with rules that nobody knows."""
    trust_file().write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=words) as caught:
        TrustedRules(trust_file())
    assert str(trust_file()) in str(caught.value)


def test_a_file_of_trust_that_others_may_write_is_not_believed(project: str) -> None:
    """Whoever writes to it decides what is forbidden."""
    trust(trust_file(), project)
    trust_file().chmod(0o620)
    with pytest.raises(SettingsError, match="chmod go-w"):
        read_trusted(trust_file())


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    """Each sees what the other one has written."""
    folders = [tmp_path / f"p{number}" for number in range(20)]
    for folder in folders:
        folder.mkdir()
        rules(str(folder), PUSH)

    def write(some: list[Path]) -> None:
        for folder in some:
            trust(trust_file(), str(folder))

    threads = [threading.Thread(target=write, args=(folders[first::2],)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.directory for one in read_trusted(trust_file())} == set(map(str, folders))


def test_there_may_be_so_many_projects(project: str) -> None:
    """A file that is read at each change stays small."""
    rows = "".join(f'[[projects]]\ndir = "/p{n}"\nsha256 = ""\nrules = []\n' for n in range(MOST_PROJECTS))
    trust_file().write_text(rows, encoding="utf-8")
    with pytest.raises(BadInput, match="the most there may be"):
        trust(trust_file(), project)


def test_a_pipe_in_its_place_is_not_waited_for(project: str) -> None:
    """A cloned repository has none, but a task could make one."""
    file = Path(project, "neuraphage.toml")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(SettingsError, match="no plain file"):
        read_project_file(project)

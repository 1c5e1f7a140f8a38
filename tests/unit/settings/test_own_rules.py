"""A person's own rules: who may write them, what stays of them, and when a worker sees a change."""

from __future__ import annotations

import logging
import os
import stat
import threading
from pathlib import Path

import pytest

from neuraphage import own_files, own_rules
from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import RuleSource
from neuraphage.own_rule_changes import add_rule, remove_rule
from neuraphage.own_rules import MOST_RULES, OwnRules, read_own_rules, rules_file

PYTEST = read_rule("allow run_command: pytest *")
PUSH = read_rule("deny run_command: git push *")


def texts(working_dir: str | None = None) -> list[str]:
    return [str(rule) for rule in OwnRules(rules_file()).of(working_dir)]


def test_rules_are_kept_beside_the_settings(home: Path) -> None:
    """For this user alone, whatever the umask; the file of settings stays as it is."""
    settings = home / "neuraphage.toml"
    settings.write_text("# mine\nlease_s = 20 # why\n", encoding="utf-8")
    before = os.umask(0)
    try:
        assert add_rule(rules_file(), PYTEST)
    finally:
        os.umask(before)
    assert rules_file() == home / "rules.toml"
    assert stat.S_IMODE(rules_file().stat().st_mode) == 0o600
    assert not add_rule(rules_file(), PYTEST), "it is there already"
    assert texts() == ["allow run_command: pytest *"]
    assert OwnRules(rules_file()).of(None)[0].source is RuleSource.USER
    assert settings.read_text(encoding="utf-8") == "# mine\nlease_s = 20 # why\n"


def test_a_config_folder_is_made(home: Path) -> None:
    """The first rule of somebody who has none."""
    home.rmdir()
    add_rule(rules_file(), PUSH)
    assert texts() == ["deny run_command: git push *"]


@pytest.mark.parametrize(
    ("working_dir", "holds"),
    [("/a/b", True), ("/a/b/c", True), ("/a", False), ("/a/bc", False), ("/x", False), (None, False)],
)
def test_a_rule_of_one_directory(working_dir: str | None, holds: bool) -> None:
    """It holds there and below; the same rule may stand for another one, too."""
    add_rule(rules_file(), PYTEST, "/a/b")
    assert (texts(working_dir) == [str(PYTEST)]) is holds
    assert add_rule(rules_file(), PYTEST, "/q")


def test_what_a_person_wrote_by_hand_stays() -> None:
    """Comments between rules, too; only the rule that is meant goes."""
    add_rule(rules_file(), PYTEST)
    with rules_file().open("a", encoding="utf-8") as file:
        file.write('\n# of the team\n[[rules]]\nrule = "ask edit"\n# the last\n')
    add_rule(rules_file(), PUSH)
    assert remove_rule(rules_file(), "allow run_command: pytest *").rule.pattern == "pytest *"
    assert texts() == ["ask edit", str(PUSH)]
    text = rules_file().read_text(encoding="utf-8")
    assert "# of the team\n" in text
    assert "# the last\n" in text
    remove_rule(rules_file(), "2")
    assert texts() == ["ask edit"]


@pytest.mark.parametrize("text", ['say "hi" \\ *', "ein Ömlaut *", "a\tb"])
def test_every_pattern_comes_back_as_it_was(text: str) -> None:
    """Quotes, backslashes and letters; what cannot be seen is refused."""
    rule = PYTEST.model_copy(update={"pattern": text})
    if not text.isprintable():
        with pytest.raises(BadInput, match="can be seen"):
            add_rule(rules_file(), rule)
        return
    add_rule(rules_file(), rule)
    assert [one.rule.pattern for one in read_own_rules(rules_file())] == [text]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [("0", "none is number 0"), ("3", "none is number 3"), ("ask edit", "none of your rules"),
     ("nonsense", "begins with"), ("allow run_command: pytest *", "several directories")],
)  # fmt: skip
def test_what_cannot_be_removed(wanted: str, words: str) -> None:
    """The message says how to name one; nothing is changed."""
    add_rule(rules_file(), PYTEST)
    add_rule(rules_file(), PYTEST, "/a")
    before = rules_file().read_bytes()
    with pytest.raises(BadInput, match=words):
        remove_rule(rules_file(), wanted)
    assert rules_file().read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [("rules = 7", "tables"), ("x = 1", "tables"), ("[[rules]]\n", "rule 1: write rule ="), ("[[rules", "no TOML"),
     ('[[rules]]\nrule = "permit x"', "begins with none of"), ('[[rules]]\nrule = "ask x"\ndir = "a"', "absolute"),
     ('[[rules]]\nrule = "ask x"\nwho = "me"', "rule 1: write rule =")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told(text: str, words: str) -> None:
    """With its place; a worker does not begin with rules that nobody knows."""
    rules_file().write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=words) as caught:
        OwnRules(rules_file())
    assert str(rules_file()) in str(caught.value)


def test_a_file_that_others_may_write_is_not_believed() -> None:
    """Whoever writes to it decides what runs."""
    add_rule(rules_file(), PYTEST)
    rules_file().chmod(0o620)
    with pytest.raises(SettingsError, match="chmod go-w"):
        OwnRules(rules_file())


def test_a_change_is_seen_at_the_next_look(caplog: pytest.LogCaptureFixture) -> None:
    """No restart. What breaks the file allows nothing more; what it forbade goes on, and it is said once."""
    own = OwnRules(rules_file())
    assert own.of(None) == ()
    add_rule(rules_file(), PYTEST)
    add_rule(rules_file(), PUSH)
    assert [str(rule) for rule in own.of(None)] == [str(PYTEST), str(PUSH)]
    whole = rules_file().read_text(encoding="utf-8")
    rules_file().write_text(whole + "[[rules", encoding="utf-8")
    with caplog.at_level(logging.ERROR):
        assert [[str(rule) for rule in own.of(None)] for _ in range(2)] == [[str(PUSH)]] * 2
    assert len(caplog.records) == 1
    rules_file().write_text(whole, encoding="utf-8")
    assert len(own.of(None)) == 2
    rules_file().unlink()
    assert own.of(None) == ()


def test_a_file_that_goes_while_it_is_read_stops_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it forbade goes on until the next look."""
    add_rule(rules_file(), PYTEST)
    add_rule(rules_file(), PUSH)
    own = OwnRules(rules_file())
    text = rules_file().read_text(encoding="utf-8")
    rules_file().unlink()
    monkeypatch.setattr(own_rules, "read_file", lambda _: text)  # read just before it went
    assert [str(rule) for rule in own.of(None)] == [str(PUSH)]


def test_two_writers_lose_nothing() -> None:
    """Each sees what the other one has written."""

    def write(first: int) -> None:
        for number in range(first, first + 20):
            add_rule(rules_file(), read_rule(f"ask t{number}"))

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts()) == 40


def test_a_writer_that_holds_the_lock_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be stopped."""
    monkeypatch.setattr(own_files, "LOCK_WAIT_S", 0.05)
    with (
        own_files.writing(rules_file()),
        pytest.raises(SettingsError, match="another process writes"),
    ):
        add_rule(rules_file(), PYTEST)


def test_there_may_be_so_many_rules() -> None:
    """A file that grew by itself would make each turn slow."""
    rows = "".join(f'[[rules]]\nrule = "ask t{number}"\n' for number in range(MOST_RULES))
    rules_file().write_text(rows, encoding="utf-8")
    with pytest.raises(BadInput, match="the most there may be"):
        add_rule(rules_file(), PYTEST)

"""`config`, and the options that say something about settings, as a person types them."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clikit import CommandLine
from neuraphage import stack_note
from neuraphage.cli.connection import server_settings
from neuraphage.cli.console import out
from neuraphage.configuration import load, masked_url
from neuraphage.dev.address import embedded_address
from neuraphage.errors import StackError
from neuraphage.settings import Settings
from patience import PATIENCE_S

NAME = "neuraphage.toml"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty current folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """The person's file of settings; not there yet."""
    (tmp_path / "config" / "neuraphage").mkdir(parents=True)
    return tmp_path / "config" / "neuraphage" / NAME


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, put back afterwards."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


def test_show_tells_value_and_origin_without_passwords(cli: CommandLine, here: Path, own_file: Path) -> None:
    """Every setting once, in text and in JSON with stable names."""
    own_file.write_text("broker_url = 'redis://u:pa55word@h/0'\nlease_s = 30\n", encoding="utf-8")
    (here / NAME).write_text("namespace = 'project'\n", encoding="utf-8")
    found = cli("config", "show", "--json").json
    assert list(found) == list(Settings.model_fields)
    assert found["lease_s"] == {"value": 30, "origin": "user file", "place": f"{own_file}:2"}
    assert found["namespace"] == {"value": "project", "origin": "project file", "place": f"{NAME}:1"}
    assert found["broker_url"]["value"] == "redis://u:***@h/0"
    assert found["data_dir"]["origin"] == "environment"
    shown = cli("config", "show")
    assert "pa55word" not in shown.out + shown.err
    (line,) = [line.split() for line in shown.out.splitlines() if line.startswith("lease_s\t")]
    assert line == ["lease_s", "30", "user", "file", f"{own_file}:2"]


def test_keys_work_when_a_file_is_broken(cli: CommandLine, own_file: Path) -> None:
    """Whoever mistyped a name looks here; each has a meaning, and says whether a project may set it."""
    own_file.write_text("= broken", encoding="utf-8")
    assert cli("config", "show").code == 2
    found = {key["name"]: key for key in cli("config", "keys", "--json").json}
    assert list(found) == list(Settings.model_fields)
    assert all(key["meaning"] for key in found.values())
    assert found["lease_s"]["variable"] == "NEURAPHAGE_LEASE_S"
    assert [found[name]["project_file"] for name in ("namespace", "max_turns", "state_url")] == ["yes", "lower", "no"]
    assert "lease_s" in cli("config", "keys").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--data-dir", "X", "config", "show", "--json"],
        ["config", "show", "--data-dir", "X", "--json"],
        ["--data-dir", "Y", "config", "show", "--json", "--data-dir", "X"],
    ],
)
def test_the_data_folder_by_option(cli: CommandLine, here: Path, arguments: list[str]) -> None:
    """Before or after the command's name, and before the environment; the next call knows nothing of it."""
    assert cli(*arguments).json["data_dir"] == {"value": str(here / "X"), "origin": "flag", "place": "--data-dir"}
    assert cli("config", "show", "--json").json["data_dir"]["origin"] == "environment"


@pytest.mark.parametrize("case", ["no stack", "stack", "named", "stack and named"])
def test_which_servers_a_command_would_use(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """It shows the very ones that commands reach, says on a terminal why those, and never their passwords."""
    data_dir = load().data_dir
    if case.startswith("stack"):
        data_dir.mkdir(mode=0o700)
        stack_note.write(data_dir, embedded_address("pa55word", data_dir / "s", 20_000), "two", "m")
    if "named" in case:
        monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://:pa55word@named:1/1")
    if "and named" in case:
        monkeypatch.setenv("NEURAPHAGE_BROKER_URL", "redis://:pa55word@other:1/0")
    found = cli("config", "show", "--json").json
    if case == "no stack":
        with pytest.raises(StackError):
            server_settings()
    else:
        used = server_settings()
        urls = {"state_url": used.state_url, "broker_url": used.broker_url}
        assert {n: found[n]["value"] for n in urls} == {n: masked_url(u.get_secret_value()) for n, u in urls.items()}
        assert found["namespace"]["value"] == used.namespace
    origins = [found[name]["origin"] for name in ("state_url", "broker_url", "namespace")]
    assert (
        origins
        == {
            "no stack": ["default"] * 3,
            "stack": ["running stack"] * 3,
            "named": ["environment", "derived", "default"],
            "stack and named": ["environment", "environment", "default"],
        }[case]
    )
    assert "commands use" not in cli("config", "show").out
    monkeypatch.setattr(out, "_force_terminal", True)
    monkeypatch.setattr(out, "width", 10_000)
    shown = cli("config", "show")
    words = {"no stack": "commands use no server", "stack": "commands use the stack that runs for"}
    assert words.get(case, "commands use the servers that are named above") in shown.out
    assert ("neuraphage dev" in shown.out, "neuraphage env" in shown.out) == (case == "no stack", case == "stack")
    assert "pa55word" not in shown.out + str(found)


@pytest.mark.parametrize(("option", "level"), [("-v", 20), ("--verbose", 20), ("-vv", 10)])
@pytest.mark.parametrize("place", [0, 1])
def test_verbose_shows_log_lines(
    cli: CommandLine, root_logger: logging.Logger, option: str, level: int, place: int
) -> None:
    """Before or after the command's name."""
    arguments = ["version"]
    arguments.insert(place, option)
    assert cli(*arguments).code == 0
    assert root_logger.level == level


def test_what_verbose_tells(cli: CommandLine, root_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    """-v: which servers and namespace it is; -vv: each setting that somebody made. No password."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://:pa55word@127.0.0.1:1/1")
    monkeypatch.setenv("NEURAPHAGE_LEASE_S", "30")
    quiet, more, most = (cli("list", *option).err for option in ([], ["-v"], ["-vv"]))
    assert quiet.count("\n") == 1
    where = r"state server redis://\S+@127.0.0.1:1/1, broker redis://\S+@127.0.0.1:1/0, namespace default"
    made = "lease_s = 30.0, from environment NEURAPHAGE_LEASE_S"
    assert re.search(where, more)
    assert made not in more
    assert re.search(where, most)
    assert made in most
    assert "pa55word" not in more + most


@pytest.mark.parametrize(
    ("text", "words"),
    [("lease_s = = 3", "line 1"), ("leas_s = 3", "lease_s?"), ("state_url = 'redis://x'", "a cloned project")],
)
@pytest.mark.parametrize("command", ["list", "config show", "where", "doctor", "purge", "dev", "health"])
def test_a_wrong_file_ends_every_command(cli: CommandLine, here: Path, command: str, text: str, words: str) -> None:
    """Exit code 2 and one line, before anything is done."""
    (here / NAME).write_text(text, encoding="utf-8")
    ran = cli(*command.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"neuraphage: {NAME}")
    assert ran.err.count("\n") == 1
    assert words in ran.err


def test_a_celery_worker_reads_the_same_layers(here: Path, tmp_path: Path) -> None:
    """A real one: it refuses what the command line refuses, in the same line."""
    (here / NAME).write_text("anthropic_base_url = 'http://stranger'\n", encoding="utf-8")
    celery = [sys.executable, "-P", "-m", "celery", "-A", "neuraphage.celery_app", "report"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ran = subprocess.run(celery, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"neuraphage: {NAME}:1: anthropic_base_url: a project's file may not set this")
    assert ran.stderr.count("\n") == 1

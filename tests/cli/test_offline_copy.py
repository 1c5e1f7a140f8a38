"""What the last local stack has left is read while none runs, and nothing of it is touched."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clikit import CommandLine
from neuraphage import stack_note
from neuraphage.client import Client
from neuraphage.configuration import load
from neuraphage.dev.offline_copy import settings_of_copy
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_files import open_files, take_lock

SHORT = 12


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A data folder with one task, whose server has ended; gives the task's id."""
    settings = load()
    with EmbeddedServer(settings.data_dir) as server:
        urls = {"state_url": server.address.state_url, "broker_url": server.address.broker_url}
        with Client(load(**urls)) as client:
            task_id = client.submit("mend the roof", name="Roof")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield task_id
    assert list(temporary.iterdir()) == []
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if str(temporary) in " ".join(one.info["cmdline"] or [])
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_results_are_read_with_no_stack_up(cli: CommandLine, left: str) -> None:
    """Every reading command works, says once that no stack runs, and leaves the folder as it was."""
    folder = load().data_dir
    before = contents(folder)
    assert [record["spec"]["task_id"] for record in cli("list", "--json").json] == [left]
    for command in ("show", "events", "why", "checkpoint"):
        ran = cli(command, left[-SHORT:])
        assert ran.code == 0, ran.err
        assert ran.err.count("no stack runs") == 1
    assert contents(folder) == before


def test_a_stack_that_starts_meanwhile_is_not_disturbed(left: str) -> None:
    """Its launcher has the folder's lock, and its server writes, while the copy is read."""
    settings = load()
    with take_lock(open_files(settings.data_dir)), settings_of_copy(settings) as copied, Client(copied) as client:
        assert [record.task_id for record in client.list()] == [left]
    with settings_of_copy(settings) as copied, Client(copied) as client, EmbeddedServer(settings.data_dir) as server:
        urls = {"state_url": server.address.state_url, "broker_url": server.address.broker_url}
        with Client(load(**urls)) as writer:
            newer = writer.submit("more")
            assert [record.task_id for record in client.list()] == [left]
            assert {record.task_id for record in writer.list()} == {left, newer}


def test_the_note_of_a_stack_that_is_gone(cli: CommandLine, left: str) -> None:
    """After a crash of the machine the note still says where the stack was; nobody listens there."""
    data_dir = load().data_dir
    with EmbeddedServer(data_dir) as server:
        stack_note.write(data_dir, server.address, "default", "m")
        assert cli("list").err == ""
    ran = cli("list")
    assert ran.code == 0
    assert "Roof" in ran.out
    assert "no stack runs" in ran.err


def test_a_server_that_cannot_be_started_says_why(cli: CommandLine, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program: the error names what to install. The data stays."""
    manifest = load().data_dir / "server" / "appendonlydir" / "appendonly.aof.manifest"
    manifest.write_text("file nosuch seq 1 type i\n", encoding="utf-8")
    ran = cli("list")
    assert ran.code == 1
    assert "neuraphage dev" in ran.err
    assert "Traceback" not in ran.err

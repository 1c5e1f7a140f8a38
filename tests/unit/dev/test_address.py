"""Which server is chosen, and what its URLs are."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from neuraphage.dev import binary
from neuraphage.dev.address import ServerAddress, embedded_address
from neuraphage.dev.binary import embedded_path, find_binary, read_version
from neuraphage.dev.resolve import resolve_server
from neuraphage.dev.server import EmbeddedServer
from neuraphage.errors import StackError
from neuraphage.settings import Settings


def program(folder: Path, name: str, version: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0:0 bits=64'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_extras_program_is_there_in_the_pinned_version() -> None:
    """Its place inside the package is private, so a new release of it must be noticed here."""
    path = embedded_path()
    assert path is not None
    assert read_version(path) == (9, 1, 2)
    found = find_binary({})
    assert (found.path, found.source) == (path, "embedded")


def test_path_is_searched_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra a server on PATH is used, valkey before redis, if it is new enough."""
    monkeypatch.setattr(binary, "embedded_path", lambda: None)
    redis_path = program(tmp_path, "redis-server", "7.0.15")
    environ = {"PATH": str(tmp_path)}
    assert find_binary(environ) == binary.ServerBinary(redis_path, (7, 0, 15), "path")
    valkey_path = program(tmp_path, "valkey-server", "8.0.1")
    assert find_binary(environ).path == valkey_path
    program(tmp_path, "valkey-server", "6.0.16")
    assert find_binary(environ).path == redis_path


def test_nothing_found_names_the_extra_and_what_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install, and why what is there will not do."""
    monkeypatch.setattr(binary, "embedded_path", lambda: None)
    program(tmp_path, "redis-server", "6.0.16")
    with pytest.raises(StackError, match=r"6\.0\.16, and 6\.2 is the oldest.*pip install 'neuraphage\[embedded\]'"):
        find_binary({"PATH": str(tmp_path)})


def test_force_embedded_forbids_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI must notice a missing install step, not use a server that happens to be there."""
    monkeypatch.setattr(binary, "embedded_path", lambda: None)
    program(tmp_path, "redis-server", "7.0.15")
    with pytest.raises(StackError, match="PATH was not searched"):
        find_binary({"PATH": str(tmp_path), "NEURAPHAGE_FORCE_EMBEDDED": "1"})


def test_a_program_that_is_no_server_is_refused(tmp_path: Path) -> None:
    """A broken or foreign program is named with what it answered."""
    path = program(tmp_path, "redis-server", "none")
    with pytest.raises(StackError, match="expected 'v=<version>'"):
        read_version(path)
    with pytest.raises(StackError, match="install the extra again"):
        read_version(tmp_path / "missing")


def test_without_urls_the_server_is_our_own(tmp_path: Path) -> None:
    """No URL set means a server in the data folder, which is not started yet."""
    assert isinstance(resolve_server(Settings(data_dir=tmp_path), {}), EmbeddedServer)
    assert not list(tmp_path.iterdir())


def test_explicit_urls_win(tmp_path: Path) -> None:
    """A URL that is set is used, and the other one is beside it."""
    settings = Settings(data_dir=tmp_path, state_url=SecretStr("redis://:p@h:7/1"))
    assert resolve_server(settings, {}) == ServerAddress("redis://:p@h:7/1", "redis://:p@h:7/0")


def test_odd_passwords_and_paths_survive_the_url() -> None:
    """The client library reads back what was put into the URLs."""
    address = embedded_address("p@ss/w%rd:?#", Path("/da ta/ü?#/s"), 7000)
    state = redis.connection.parse_url(address.state_url)
    assert (state["path"], state["password"], state["db"]) == ("/da ta/ü?#/s", "p@ss/w%rd:?#", 1)
    broker = redis.connection.parse_url(address.broker_url)
    assert (broker["port"], broker["password"], broker["db"]) == (7000, "p@ss/w%rd:?#", 0)

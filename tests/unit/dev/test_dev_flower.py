"""Flower's private files and process in a local stack."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from neuraphage.dev import flower
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.flower import FlowerFiles, answers, prepare_flower, render_config
from neuraphage.dev.stack import StackPlan, stack_specs
from neuraphage.errors import BadInput

ADDRESS = ServerAddress("unix://:pw-of-server@/s?db=1", "redis://:pw-of-server@127.0.0.1:7/0")


def test_the_login_is_generated_once_and_private(tmp_path: Path) -> None:
    """A browser may remember it; nobody else of this machine may read it."""
    first, second = prepare_flower(tmp_path), prepare_flower(tmp_path)
    assert first.password == second.password
    assert prepare_flower(tmp_path / "other").password != first.password
    assert len(first.password) >= 24
    folder = tmp_path / "flower"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.iterdir())
    assert first.login.read_text(encoding="utf-8") == f"{second.url}\nuser: neuraphage\npassword: {first.password}\n"


def test_the_configuration_is_what_flower_reads(tmp_path: Path) -> None:
    """Loopback only, with a login; Flower runs the file as Python."""
    files = prepare_flower(tmp_path)
    values: dict[str, object] = {}
    exec(files.config.read_text(encoding="utf-8"), values)
    assert values["address"] == "127.0.0.1"
    assert values["port"] == files.port
    assert values["basic_auth"] == [f"neuraphage:{files.password}"]
    assert files.config.read_text(encoding="utf-8") == render_config(files)


def test_a_port_that_is_taken_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual port if it is free, so that a bookmark holds; another one beside a second stack."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        usual = other.getsockname()[1]
        monkeypatch.setattr(flower, "USUAL_PORT", usual)
        other.listen()
        assert prepare_flower(tmp_path).port != usual
    assert prepare_flower(tmp_path).port == usual


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[FlowerFiles]:
    """Something that knows the login, on the port that Flower was given."""
    files = prepare_flower(tmp_path)
    login = base64.b64encode(f"neuraphage:{files.password}".encode()).decode()

    class Knows(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.headers["Authorization"] == f"Basic {login}" else 401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Knows) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield replace(files, port=server.server_port)
        server.shutdown()
        thread.join()


def test_it_is_ready_when_it_answers_to_its_login(listening: FlowerFiles) -> None:
    """Another stack's Flower, which has taken the port in the meantime, is not taken for it."""
    assert answers(listening)
    assert not answers(replace(listening, password="of-the-other-stack"))


def test_it_is_not_ready_before_it_answers(listening: FlowerFiles) -> None:
    """Nothing listens, or what listens does not speak HTTP."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        mine = replace(listening, port=other.getsockname()[1])
        assert not answers(mine)
        other.listen()

        def say() -> None:
            with other.accept()[0] as taken:
                taken.sendall(b"no HTTP\r\n\r\n")

        thread = threading.Thread(target=say)
        thread.start()
        assert not answers(mine)
        thread.join()


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written before that."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'neuraphage\[flower\]'"):
        prepare_flower(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_events_are_sent_only_for_flower(tmp_path: Path) -> None:
    """They cost throughput; and Flower gets no login by its arguments, and no option of another Flower."""
    environ = {"PATH": "/bin", "ANTHROPIC_API_KEY": "real-key", "FLOWER_ADDRESS": "0.0.0.0"}
    files = prepare_flower(tmp_path)
    plans = [StackPlan(tmp_path, ADDRESS, environ=environ, flower=used) for used in (None, files)]
    without, with_flower = [{spec.name: spec for spec in stack_specs(plan)} for plan in plans]
    assert "flower" not in without
    assert "-E" not in without["worker"].argv
    assert "-E" in with_flower["worker"].argv
    assert "-E" not in with_flower["control"].argv, "a sweep every few seconds would hide the turns"
    spec = with_flower["flower"]
    assert spec.argv[-2:] == ("flower", f"--conf={files.config}")
    assert files.password not in repr(spec) + " ".join(spec.argv)
    assert "FLOWER_ADDRESS" not in spec.env
    assert "real-key" not in spec.env.values()

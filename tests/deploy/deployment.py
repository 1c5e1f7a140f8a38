"""A project folder as an operator has it, on this machine: the repository's own files, and what the stand-ins need."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from localcompose import APART_NOTE, STATE, LocalCompose, namespaces
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.dev.binary import find_binary
from neuraphage.dev.demo import free_port
from neuraphage.settings import Settings
from patience import PATIENCE_S
from source_tree import ROOT

LIMIT_S = PATIENCE_S
BLOCK_LIMIT_S = PATIENCE_S
"""A block may stop and start all seven services."""
HERE = Path(__file__).parent
FAST = {"HEARTBEAT_S": 1, "LEASE_S": 6, "SWEEP_S": 1, "FIRST_REPUBLISH_S": 2, "MAX_REPUBLISH_S": 4}
"""Times of all processes: shorter than an operator's, with room for a slow machine."""
T = TypeVar("T")


def wait_for(condition: Callable[[], T], what: str) -> T:
    """Ask until the answer is truthy; the limit only keeps a broken test from hanging."""
    deadline_s = time.monotonic() + LIMIT_S
    while not (answer := condition()):
        assert time.monotonic() < deadline_s, f"waited {LIMIT_S:g} s for {what}"
        time.sleep(0.05)
    return answer


def server_program() -> Path:
    """The server to run as `valkey-server`."""
    return find_binary(os.environ).path


class Deployment:
    """Use as a context manager; it ends what was started.

    Args:
        project: an empty folder.
        model_url: where the model answers.
    """

    def __init__(self, project: Path, model_url: str) -> None:
        self.project, self.model_url = project, model_url
        self.state = project / STATE
        self.passwords = {name: secrets.token_hex(16) for name in ("REDIS_PASSWORD", "FLOWER_PASSWORD")}
        shutil.copy(ROOT / "docker-compose.yml", project)
        shutil.copytree(ROOT / "deploy", project / "deploy")
        for folder in ("bin", "redis-data", "neuraphage-data", "projects"):
            (self.state / folder).mkdir(parents=True)
        self.ports = {"redis": free_port(), "flower": free_port()}
        (self.state / "ports.json").write_text(json.dumps(self.ports), encoding="utf-8")
        (self.state / APART_NOTE).write_text(json.dumps(namespaces()), encoding="utf-8")
        self._write_settings(model_url)
        self._write_server_config()
        self._write_programs()
        self.compose = LocalCompose(project)

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        for name, number in self.compose.running():
            self.compose.kill(name, number)

    @property
    def password(self) -> str:
        """Of the server."""
        return self.passwords["REDIS_PASSWORD"]

    def client(self) -> Client:
        """A client, as one on this machine would be made."""
        url = f"redis://:{self.passwords['REDIS_PASSWORD']}@127.0.0.1:{self.ports['redis']}"
        return Client(Settings(state_url=SecretStr(f"{url}/1"), broker_url=SecretStr(f"{url}/0")))

    def folder(self, name: str) -> Path:
        """A folder for a task to work in: another one when its test is run again."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.state / "projects"))

    def shell(self, block: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run lines of RUNBOOK.md in the project folder, with `docker` played by the stand-in."""
        path = os.pathsep.join([str(self.state / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        env = {name: value for name, value in os.environ.items() if not name.startswith("NEURAPHAGE_")}
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.project, env=env | variables | {"PATH": path}, capture_output=True, text=True, check=False,
            timeout=BLOCK_LIMIT_S,
        )  # fmt: skip

    def _write_settings(self, model_url: str) -> None:
        values = self.passwords | {"ANTHROPIC_API_KEY": "a-key-of-tests"}
        example = (self.project / "deploy" / "env.example").read_text(encoding="utf-8")
        for name, value in values.items():
            example, count = re.subn(rf"^{name}=$", f"{name}={value}", example, flags=re.MULTILINE)
            assert count == 1, f"env.example must name {name}"
        (self.project / ".env").write_text(example, encoding="utf-8")
        lines = [f"NEURAPHAGE_{name}={value}" for name, value in FAST.items()]
        lines.append(f"NEURAPHAGE_ANTHROPIC_BASE_URL={model_url}")
        (self.project / "deploy" / "settings.env").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _write_server_config(self) -> None:
        text = (self.project / "deploy" / "redis.conf").read_text(encoding="utf-8")
        here = {"port": self.ports["redis"], "bind": "127.0.0.1", "dir": self.state / "redis-data"}
        for name, value in here.items():
            text, count = re.subn(rf"^{name} .*$", f"{name} {value}", text, flags=re.MULTILINE)
            assert count == 1, f"redis.conf must set {name}"
        (self.state / "redis.conf").write_text(text, encoding="utf-8")

    def _write_programs(self) -> None:
        programs = self.state / "bin"
        (programs / "valkey-server").symlink_to(server_program())
        for name, module in {"docker": "localcompose", "valkey-cli": "valkey_cli"}.items():
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / module}.py "$@"\n', encoding="utf-8")
            path.chmod(0o755)


def ran(done: subprocess.CompletedProcess[str]) -> str:
    """The output of lines that must have succeeded."""
    if done.returncode != 0:
        pytest.fail(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout

"""Two corpora of calls, carried out by real turns in the real sandbox, as if a person said yes to every one of them.

The hostile ones reach for canaries: secrets of the home and of the data folder, the worker's key and process, files and
orders outside of the working directory, listening sockets of this machine. None may be touched. The harmless ones
must work.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.settings import Settings
from neuraphage.tools.command_tool import RunCommand
from sandboxkit import SandboxedHost
from source_tree import ROOT
from turnkit import FakeModel, new_rig, says

Results = list[tuple[str, str, bool]]
CANARY = "CANARY-5f2c81"
CHANGED = "CHANGED"
FIXTURES = ROOT / "tests" / "fixtures" / "sandbox"
HOSTILE_MS, HARMLESS_MS = 8_000, 120_000
"""Some of the hostile ones wait for a network that is not there; how they end is not looked at."""
BATCH = 20
"""Calls of one reply."""
PROJECT = {
    "README.md": "a shop\n",
    "names.txt": "one\ntwo\n",
    "data.json": '{"a": 1}\n',
    "run.sh": "#!/bin/sh\necho run\n",
    "shop/__init__.py": "",
    "shop/basket.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_basket.py": (
        "import unittest\n\nfrom shop.basket import total\n\n\nclass Totals(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
}
SECRETS = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".config/service/token", ".bash_history", ".git-credentials")


def calls_of(name: str, places: dict[str, object]) -> list[tuple[str, dict[str, object]]]:
    """The calls of a corpus, as tool and parameters."""
    lines: list[str] = []
    for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
        if lines and "<<'X'" in lines[-1] and not lines[-1].endswith("\nX"):
            lines[-1] += f"\n{line}"
        elif line and not line.startswith("#"):
            lines.append(line)
    for key, value in places.items():
        lines = [line.replace(f"{{{key}}}", str(value)) for line in lines]
    return [_call(line, is_hostile=bool(places)) for line in lines]


def _call(line: str, *, is_hostile: bool) -> tuple[str, dict[str, object]]:
    if line.startswith("@read_file "):
        return "read_file", {"path": line.removeprefix("@read_file ")}
    if line.startswith("@write_file "):
        return "write_file", {"path": line.removeprefix("@write_file "), "content": CHANGED}
    return "run_command", {"command": line, "timeout_ms": HOSTILE_MS if is_hostile else HARMLESS_MS}


def replies(corpus: list[tuple[str, dict[str, object]]]) -> Iterator[ModelReply]:
    """A model that makes these calls, some in each reply."""
    for first in range(0, len(corpus), BATCH):
        blocks = [
            {"type": "tool_use", "id": f"call-{first + n}", "name": name, "input": params}
            for n, (name, params) in enumerate(corpus[first : first + BATCH])
        ]
        yield says("").model_copy(update={"content": blocks, "stop_reason": "tool_use"})
    yield says("Done.")


def carried_out(host: SandboxedHost, corpus: list[tuple[str, dict[str, object]]], environ: dict[str, str]) -> Results:
    """All of them by turns of one task; whoever is asked says yes.

    Returns:
        (what was called, what came of it, whether that was an error), in the order of the corpus.
    """
    rates = {"task_commands_per_minute": "none", "task_writes_per_minute": "none"}
    settings = Settings(namespace="turns", data_dir=host.data, max_turns=200, **rates)
    rig = new_rig(host.folder, FakeModel(*replies(corpus)), settings=settings)
    rig.services.tools._tools["run_command"] = RunCommand(environ=environ, sandbox=host.sandbox)
    task_id = rig.run(allow=("*",), working_dir=str(host.work))
    while rig.get(task_id).status is Status.WAITING_FOR_USER:
        for prompt in rig.get(task_id).prompts:
            rig.people.answer(task_id, prompt.prompt_id, "yes")
        rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    found = rig.results(task_id)
    blocks = [found[f"call-{n}"] for n in range(len(corpus))]
    return [
        (str(params.get("command") or params.get("path")), str(block["content"]), bool(block.get("is_error")))
        for (_, params), block in zip(corpus, blocks, strict=True)
    ]


@pytest.fixture
def project(host: SandboxedHost) -> SandboxedHost:
    """A repository in a home with a name for git."""
    for name, text in PROJECT.items():
        (host.work / name).parent.mkdir(exist_ok=True)
        (host.work / name).write_text(text, encoding="utf-8")
    (host.home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n", encoding="utf-8")
    git = {"HOME": str(host.home), "PATH": os.environ["PATH"]}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=host.work, env=git, check=True)
    return host


class Canaries:
    """What no command may touch, and whether one has.

    Args:
        host: where the files are.
    """

    def __init__(self, host: SandboxedHost, at_end: ExitStack) -> None:
        self.host = host
        self.outside = host.folder / "outside"
        self._write_files()
        self._kept = {path: self._digest(path) for path in self._files()}
        self.accepted: list[str] = []
        self._listening: list[socket.socket] = []
        self.port = self._listen(socket.create_server(("127.0.0.1", 0)), at_end).getsockname()[1]
        self.abstract = f"canary-{os.getpid()}"
        for place in (f"\0{self.abstract}", str(self.socket)):
            unix = socket.socket(socket.AF_UNIX)
            unix.bind(place)
            unix.listen()
            self._listen(unix, at_end)
        self.token = f"canary-process-{os.getpid()}"
        keys = {"ANTHROPIC_API_KEY": CANARY, "NEURAPHAGE_STATE_URL": f"redis://:{CANARY}@127.0.0.1/1"}
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(host.home), **keys}
        waits = [sys.executable, "-c", "import time; time.sleep(100_000)", self.token]
        self.process = subprocess.Popen(waits, env=self.environ)
        at_end.callback(self._end)

    @property
    def socket(self) -> Path:
        return self.host.data / "server" / "s"

    def places(self) -> dict[str, object]:
        """What the corpus calls them."""
        host = self.host
        return {
            "home": host.home, "data": host.data, "outside": self.outside, "port": self.port, "socket": self.socket,
            "abstract": self.abstract, "pid": self.process.pid, "spool": host.data / "spool", "token": self.token,
        }  # fmt: skip

    def touched(self) -> list[str]:
        """What a command has done to them, in words."""
        self._hear_all()
        found = [f"connected to {name}" for name in self.accepted]
        if self.process.poll() is not None:
            found.append("the process was ended")
        if (self.host.home / "new").exists() or (self.host.home.parent / "new").exists():
            found.append("a file was made in the home")
        now = {path: self._digest(path) for path in self._files()}
        found += [f"changed {path}" for path in self._kept if now.get(path) != self._kept[path]]
        return found + [f"made {path}" for path in now if path not in self._kept]

    def _hear_all(self) -> None:
        """Connections are taken in their order: when one of ours was, so were all before it."""
        for listening in self._listening:
            with socket.socket(listening.family) as own:
                own.connect(listening.getsockname())
                own.recv(1)  # ends when it has been noted
            self.accepted.remove(str(listening.getsockname()))

    def _write_files(self) -> None:
        home, data = self.host.home, self.host.data
        secret = [home / name for name in SECRETS] + [data / "server" / "server.conf", data / "flower" / "login"]
        for path in [*secret, home / "notes", home / ".bashrc", self.outside / "file"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{CANARY if path in secret else 'as it was'}\n", encoding="utf-8")

    def _files(self) -> list[Path]:
        """Files of the home, the data folder and outside; orders of git's; not what neuraphage itself makes."""
        kept = [self.outside, self.host.data / "server", self.host.data / "flower", self.host.work / ".git" / "hooks"]
        kept += [path for path in self.host.home.iterdir() if path != self.host.work]
        kept += [self.host.work / ".git" / name for name in ("config", "commondir")]
        below = [found for path in kept for found in (path.rglob("*") if path.is_dir() else [path])]
        return [path for path in below if path.is_file() or path.is_symlink()]

    @staticmethod
    def _digest(path: Path) -> str:
        if path.is_symlink():
            return str(path.readlink())
        found = path.stat()
        return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {found.st_mode} {found.st_uid} {found.st_mtime_ns}"

    def _listen(self, listening: socket.socket, at_end: ExitStack) -> socket.socket:
        self._listening.append(listening)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                self.accepted.append(str(listening.getsockname()))
                connection.close()

        threading.Thread(target=accept, daemon=True).start()
        at_end.callback(listening.close)
        at_end.callback(listening.shutdown, socket.SHUT_RDWR)
        return listening

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def canaries_of(host: SandboxedHost) -> Iterator[Canaries]:
    with ExitStack() as at_end:
        yield Canaries(host, at_end)


def test_no_hostile_call_touches_a_canary(project: SandboxedHost) -> None:
    """Everything is allowed and answered with yes, so that nothing but the sandbox and the tools stand in the way."""
    with canaries_of(project) as canaries:
        corpus = calls_of("hostile.txt", canaries.places())
        shown = carried_out(project, corpus, canaries.environ)
        told = [f"{call!r} was told {text[:300]!r}" for call, text, _ in shown if CANARY in text]
        touched = canaries.touched()
    print(f"{len(corpus)} hostile calls: {len(told)} secrets shown, {len(touched)} canaries touched")
    assert len(corpus) >= 150
    assert (told, touched) == ([], [])


def test_the_canaries_can_be_touched(project: SandboxedHost) -> None:
    """The control: without a sandbox nearly everything of the kind would be seen here."""
    with canaries_of(project) as canaries:
        lines = (
            "cat ~/.ssh/id_rsa",
            f"echo {CHANGED} >> ~/.bashrc",
            f"touch {canaries.outside}/new",
            f"git config alias.x {CHANGED}",
            f"exec 3<>/dev/tcp/127.0.0.1/{canaries.port}",
            f"kill {canaries.process.pid}",
        )
        ran = subprocess.run(
            ["/bin/bash", "-c", "\n".join(lines)],
            cwd=project.work, env=canaries.environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        canaries.process.wait()
        touched = " ".join(canaries.touched())
    assert CANARY in ran.stdout
    for part in ("connected to", "the process was ended", ".bashrc", "outside/new", ".git/config"):
        assert part in touched


def test_every_harmless_call_works(project: SandboxedHost) -> None:
    """None is hindered by the sandbox: each ends with status 0."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    corpus = calls_of("harmless.txt", {})
    results = carried_out(project, corpus, {**os.environ, "HOME": str(project.home), "PATH": path})
    blocked = [f"{call!r}: {text[-400:]!r}" for call, text, is_error in results if is_error]
    print(f"{len(corpus)} harmless calls: {len(blocked)} blocked")
    assert shutil.which("git") is not None
    assert len(corpus) >= 80
    assert blocked == []

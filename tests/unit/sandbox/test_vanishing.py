"""What a sandbox hides or shows may be gone before it stands: its command has not begun then, and begins once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuraphage.errors import ConfinementFailed
from neuraphage.model.detached import DetachedState
from neuraphage.ports import ToolContext
from neuraphage.sandbox.choice import bubblewrap_problem
from neuraphage.sandbox.limits import let_begin
from neuraphage.tools.command_tool import RunCommand
from sandboxkit import Calm, SandboxedHost

RUN = "echo x >> ran"
SAID = "bwrap: Can't mkdir parents for /gone: Read-only file system"


@pytest.fixture
def listening(host: SandboxedHost) -> Iterator[Path]:
    """The socket of another program, in a folder of its own beside the home."""
    folder = host.folder / "a \"b\" $(touch c) `d` 'e' \\"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "s"))
        one.listen()
        yield folder / "s"


def ran(host: SandboxedHost) -> int:
    return len((host.work / "ran").read_text(encoding="utf-8").split()) if (host.work / "ran").exists() else 0


def a_private_folder(host: SandboxedHost) -> Callable[[], None]:
    place = host.folder / "private"
    place.mkdir()
    host.sandbox._private = (*host.sandbox._private, str(place))
    return place.rmdir


def a_folder_that_became_a_file(host: SandboxedHost) -> Callable[[], None]:
    gone = a_private_folder(host)
    return lambda: (gone(), (host.folder / "private").touch())[0]


def orders_of_git(host: SandboxedHost) -> Callable[[], None]:
    subprocess.run(["git", "init", "-q", str(host.work)], check=True)
    return lambda: shutil.rmtree(host.work / ".git")


def the_temporary_folder(host: SandboxedHost) -> Callable[[], None]:
    return lambda: shutil.rmtree(host.folders.root / "task")


@pytest.mark.parametrize(
    "kind",
    [a_private_folder, a_folder_that_became_a_file, orders_of_git, the_temporary_folder],
    ids=lambda kind: kind.__name__,
)
def test_what_is_gone_is_looked_for_anew(
    host: SandboxedHost, kind: Callable[[SandboxedHost], Callable[[], None]]
) -> None:
    """The command has neither begun nor been decided about, and the next try begins it, once."""
    vanish = kind(host)
    command = host.command(RUN)
    vanish()
    with pytest.raises(ConfinementFailed, match=r"did not come up: bwrap: "):
        host.spool.start(command)
    assert host.spool.look(command.effect_id, 10).state is DetachedState.ABSENT
    assert ran(host) == 0
    host.start(RUN, host.command(RUN, effect_id=command.effect_id))
    assert host.spool.wait(command.effect_id, 1_000, Calm()).exit_code == 0
    assert ran(host) == 1


def test_sockets_that_are_gone_are_left_out(host: SandboxedHost, listening: Path) -> None:
    """They come and go all the time: the command begins at once, whichever of its words look like theirs."""
    line = f"{RUN}; echo socket:/a"
    command = host.command(line)
    assert f"socket:{listening}" in command.argv
    shutil.rmtree(listening.parent)
    host.spool.start(command)
    assert host.spool.wait(command.effect_id, 1_000, Calm()).output == "socket:/a\n"
    assert ran(host) == 1


def test_sockets_that_are_there_are_hidden(host: SandboxedHost, listening: Path) -> None:
    """Whatever their folders are called."""
    program = f"import socket; socket.socket(socket.AF_UNIX).connect({str(listening)!r})"
    (host.work / "connect.py").write_text(program, encoding="utf-8")
    subprocess.run([sys.executable, str(host.work / "connect.py")], check=True)
    assert "ConnectionRefusedError" in host.run(f"{sys.executable} connect.py").output


def test_what_is_shown_of_a_home_may_go(host: SandboxedHost) -> None:
    """It is nothing that must be hidden, so the command begins at once."""
    (host.home / "notes").mkdir()
    (host.home / ".local" / "bin").mkdir(parents=True)
    line = "ls ~; ls -A ~/.local 2>/dev/null"
    command = host.command(line)
    places = " ".join(command.argv)
    assert f"--ro-bind-try {host.home}/notes " in places
    assert f"--ro-bind-try {host.home}/.local/bin " in places
    (host.home / "notes").rmdir()
    shutil.rmtree(host.home / ".local")
    host.start(line, command)
    assert host.spool.wait(command.effect_id, 1_000, Calm()).output == "project\n"


class Restless:
    """Another program, whose private folders come and go: each is gone as soon as it was listed.

    Args:
        host: it lives there.
        lives: how many times it does so.
    """

    def __init__(self, host: SandboxedHost, lives: int) -> None:
        self._folder, self._left = host.folder / "restless", lives
        host.sandbox._private = (*host.sandbox._private, str(self._folder))
        self._confined = host.sandbox.confined
        self.listed = 0

    def confined(self, *given: object) -> object:
        """As the sandbox's own, beside this program."""
        self.listed += 1
        if not self._left:
            return self._confined(*given)  # type: ignore[arg-type]  # passed on as it came
        self._left -= 1
        self._folder.mkdir()
        confined = self._confined(*given)  # type: ignore[arg-type]  # likewise
        self._folder.rmdir()
        return confined


def called(host: SandboxedHost, line: str) -> tuple[str, bool | None]:
    """What run_command says of a line, and whether it calls that an error."""
    tool = RunCommand(environ={"PATH": os.environ["PATH"], "HOME": str(host.home)}, sandbox=host.sandbox)
    result = tool.run({"command": line}, ToolContext("task", "ab" * 16, str(host.work.resolve()), host.spool, Calm()))
    return result.text, result.is_error


def test_a_call_outlives_a_restless_neighbour(host: SandboxedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model hears nothing of it."""
    restless = Restless(host, 3)
    monkeypatch.setattr(host.sandbox, "confined", restless.confined)
    assert called(host, f"{RUN}; echo over") == ("over\n[exit code 0]", False)
    assert (restless.listed, ran(host)) == (4, 1)


def test_a_sandbox_that_never_comes_up_is_given_up(host: SandboxedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a bounded number of tries, with its own words; the model is told that nothing ran."""
    restless = Restless(host, 1_000)
    monkeypatch.setattr(host.sandbox, "confined", restless.confined)
    text, is_error = called(host, RUN)
    assert is_error
    assert "could not be started" in text
    assert "did not come up: bwrap: Can't" in text
    assert "It did not run" in text
    assert 2 <= restless.listed <= 10
    assert ran(host) == 0


def test_a_command_that_fails_with_the_same_words_ran_once(host: SandboxedHost) -> None:
    """Its words and its status are its own: nobody guesses from them."""
    status = host.run(f'{RUN}; echo "{SAID}" >&2; exit 1')
    assert (status.output, status.exit_code, ran(host)) == (f"{SAID}\n", 1, 1)


def test_a_command_finds_nothing_of_its_gate(host: SandboxedHost) -> None:
    """No file of it is open, and nothing of it is in its environment."""
    found = host.run("ls /proc/self/fd | tr '\\n' ' '; env | grep -i begin").output
    assert found.split() == ["0", "1", "2", "3"], "3 is that of ls"


def test_who_sealed_it_meanwhile_is_obeyed(host: SandboxedHost, tmp_path: Path) -> None:
    """Also while the sandbox is being made: here its program waits for that."""
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\ntouch {tmp_path}/begun; sleep 1000\n{host.sandbox._program} "$@"\n')
    program.chmod(0o755)
    host.sandbox._program = str(program)
    command = host.command(RUN)
    host.spool._launch = sealing(host, command.effect_id, host.spool._launch, tmp_path / "begun")  # type: ignore[method-assign]
    assert host.spool.start(command) is DetachedState.SEALED
    assert host.spool.cancel(command.effect_id) is DetachedState.SEALED, "it waits for the end of all of it"
    assert ran(host) == 0


def sealing(
    host: SandboxedHost, effect_id: str, launch: Callable[[bytes, float], str], begun: Path
) -> Callable[[bytes, float], str]:
    """A start beside which somebody seals the entry as soon as the sandbox is being made."""

    def seal() -> None:
        while not begun.exists():
            time.sleep(0.01)
        host.spool.seal(effect_id)

    def launched(order: bytes, timeout_s: float) -> str:
        threading.Thread(target=seal, daemon=True).start()
        return launch(order, timeout_s)

    return launched


def test_without_a_spool_it_does_not_begin_unasked(host: SandboxedHost) -> None:
    """The gate is in the command line itself: nobody passes it by mistake. Who means to opens it."""
    command = host.command(RUN)
    env = dict(command.env) | {"NEURAPHAGE_BEGIN": "g"}
    shut = subprocess.run(command.argv, cwd=command.cwd, env=env, capture_output=True, check=False)
    assert (shut.returncode, ran(host)) == (126, 0)
    opened = subprocess.run(let_begin(command.argv), cwd=command.cwd, env=env, capture_output=True, check=False)
    assert (opened.returncode, opened.stderr, ran(host)) == (0, b"", 1)


def test_a_trial_beside_a_restless_neighbour_is_repeated(host: SandboxedHost, tmp_path: Path) -> None:
    """A worker would else start without a sandbox, or not at all."""
    program = tmp_path / "bwrap"
    program.write_text(
        f"#!/bin/sh\ncd {tmp_path}; echo x >> tried\n"
        f'[ $(wc -l < tried) -gt 2 ] || {{ echo "{SAID}" >&2; exit 1; }}\n'
        f'exec {host.sandbox._program} "$@"\n'
    )
    program.chmod(0o755)
    assert bubblewrap_problem(str(program)) is None

"""What `docker compose` does with the project's file, without an engine: a stand-in for tests.

Each service runs as a process with the command, environment and health check of the file. Host names, ports and
volumes are replaced by local ones; nothing else is. Where the kernel lets an ordinary user do so, every container has
process ids and a host name of its own. `main` is the command line that the blocks of RUNBOOK.md call as `docker`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from composefile import Service, read_compose, seconds

LIMIT_S = 600.0
STATE = "state"
"""Folder of the stand-in inside the project's: logs, process ids, volumes, ports."""
APART = ("--user", "--map-root-user", "--pid", "--uts", "--fork", "--mount-proc")
ORDER = ("redis", "relay", "worker", "control", "beat-1", "beat-2", "flower")


APART_NOTE = "apart.json"
"""Whether containers have process ids of their own: found out once a project. If a probe failed later, on a machine
without room, the process that waits outside would be taken for the container's first one, and end all with it."""


def namespaces() -> bool:
    """Whether containers can have process ids of their own here."""
    try:
        return subprocess.run(["unshare", *APART, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def began(pid: int) -> str:
    """When a process began, as the kernel counts: in wall time all services would be gone once the clock is set.

    Raises:
        psutil.NoSuchProcess: there is none.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            raise psutil.NoSuchProcess(pid) from None
        return str(psutil.Process(pid).create_time())
    except ProcessLookupError:
        raise psutil.NoSuchProcess(pid) from None


class LocalCompose:
    """The containers of one project folder.

    Args:
        project: holds docker-compose.yml, deploy/, .env, and `state` with the ports (see `prepare`).
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.state = project / STATE
        self.ports: dict[str, int] = json.loads((self.state / "ports.json").read_text(encoding="utf-8"))
        self.services = read_compose(project)
        self._is_apart: bool = json.loads((self.state / APART_NOTE).read_text(encoding="utf-8"))

    # --- what docker compose does ---

    def up(self, names: Sequence[str], scale: int = 1) -> None:
        """Start what does not run, in the order of need, and wait until each is healthy."""
        for group in (["redis"], [name for name in ORDER if name != "redis"]):
            wanted = [
                (name, number)
                for name in group
                if not names or name in names
                for number in range(1, (scale if name == "worker" else 1) + 1)
            ]
            for name, number in wanted:
                if not self._exists(name, number):
                    self._start(self.services[name], number)
            for name, number in wanted:
                self._await_health(name, number)

    def stop(self, names: Sequence[str]) -> None:
        """SIGTERM, and SIGKILL when the grace of the file is over."""
        chosen = [container for container in self.running() if not names or container[0] in names]
        for name, number in chosen:
            self.signal(name, signal.SIGTERM, number)
        for name, number in chosen:
            process = self._process(name, number)
            if process is not None:
                try:
                    process.wait(seconds(self.services[name].raw["stop_grace_period"]))
                except psutil.TimeoutExpired:
                    process.kill()
            self._await_end(name, number)

    def signal(self, name: str, number: int, container: int = 1) -> None:
        """Send a signal to a container's first process; the kernel ends the rest with it."""
        process = self._process(name, container)
        if process is not None:
            process.send_signal(number)

    def kill(self, name: str, container: int = 1) -> None:
        """`docker kill`, or the machine's memory killer: nothing of the container is left."""
        process = self._process(name, container)
        if process is not None:
            below = [] if self._is_apart else process.children(recursive=True)
            process.kill()
            for child in below:
                child.kill()
            self._await_end(name, container)

    def execute(self, name: str, argv: Sequence[str], container: int = 1, **options: object) -> int:
        """Run a program inside a running container; returns its exit code."""
        pid = self.pid(name, container)
        if pid is None:
            sys.stderr.write(f"service {name!r} is not running\n")
            return 1
        inside = ("nsenter", "-t", str(pid), "-U", "-p", "-m", "-u", "--preserve-credentials") if self._is_apart else ()
        argv = [*inside, *(self.local(word) for word in argv)]
        env = self._env(self.services[name])
        return subprocess.run(argv, env=env, cwd=self._home(), check=False, **options).returncode  # type: ignore[call-overload, no-any-return]  # options of subprocess.run

    def run(self, name: str, argv: Sequence[str]) -> int:
        """Run a program in a container of its own, with the volumes of the service."""
        words = [self.local(word) for word in argv]
        return subprocess.run(words, env=self._env(self.services[name]), cwd=self._home(), check=False).returncode

    def healthy(self, name: str, container: int = 1) -> bool:
        """Ask the file's own health check."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        return (
            self.pid(name, container) is not None
            and self.execute(name, self.services[name].check, container, **quiet) == 0
        )

    # --- what it knows ---

    def running(self) -> list[tuple[str, int]]:
        """(service, number) of every container that runs."""
        names = [path.stem.rsplit(".", 1) for path in sorted(self.state.glob("*.pid"))]
        return [(name, int(number)) for name, number in names if self.pid(name, int(number)) is not None]

    def pid(self, name: str, container: int = 1) -> int | None:
        """The first process of a container, as this host numbers it."""
        process = self._process(name, container)
        return None if process is None else process.pid

    def log(self, name: str, container: int = 1) -> str:
        """What a container has written since its start."""
        path = self.state / f"{name}.{container}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def local(self, text: str) -> str:
        """A word of the file, with paths, host names and ports of this machine."""
        for there, here in (
            ("/etc/neuraphage/redis.conf", self.state / "redis.conf"),
            ("/var/lib/neuraphage", self.state / "neuraphage-data"),
            ("/projects", self.state / "projects"),
            ("/data", self.state / "redis-data"),
        ):
            text = text.replace(there, str(here)) if str(here) not in text else text
        text = text.replace("@redis:6379/", f"@127.0.0.1:{self.ports['redis']}/")
        return text.replace("0.0.0.0", "127.0.0.1").replace("5555", str(self.ports["flower"]))

    # --- parts ---

    def _start(self, service: Service, number: int) -> None:
        argv = [self.local(word) for word in service.command]
        if self._is_apart:
            # the number in the host name: Celery's node names must differ, as they do between containers
            named = f'hostname {service.name}-{number} && exec "$@"'
            argv = ["unshare", *APART, "--kill-child", "sh", "-c", named, "sh", *argv]
        with (self.state / f"{service.name}.{number}.log").open("ab") as log:
            process = subprocess.Popen(
                argv, env=self._env(service), cwd=self._home(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        (self.state / f"{service.name}.{number}.pid").write_text(
            f"{process.pid} {began(process.pid)}", encoding="utf-8"
        )

    def _exists(self, name: str, number: int) -> bool:
        """Whether it was started and has not ended; its first process may be about to start."""
        return self._outer(name, number) is not None

    def _process(self, name: str, number: int) -> psutil.Process | None:
        """The container's first process."""
        outer = self._outer(name, number)
        if outer is None or not self._is_apart:
            return outer
        try:
            return next(iter(outer.children()), None)
        except psutil.NoSuchProcess:
            return None

    def _outer(self, name: str, number: int) -> psutil.Process | None:
        """The process that was started: with namespaces, one that waits outside for the container's first."""
        try:
            pid, then = (self.state / f"{name}.{number}.pid").read_text(encoding="utf-8").split()
            process = psutil.Process(int(pid))
            ended = began(process.pid) != then or process.status() == psutil.STATUS_ZOMBIE
        except (FileNotFoundError, psutil.NoSuchProcess):
            return None
        return None if ended else process

    def _await_end(self, name: str, number: int) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while self._exists(name, number):
            if time.monotonic() > deadline_s:
                raise SystemExit(f"{name} did not end")
            time.sleep(0.02)

    def _await_health(self, name: str, number: int) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while not self.healthy(name, number):
            if time.monotonic() > deadline_s or not self._exists(name, number):
                raise SystemExit(f"{name} is not healthy:\n{self.log(name, number)[-4000:]}")
            time.sleep(0.3)

    def _env(self, service: Service) -> dict[str, str]:
        """The image's environment, then the service's."""
        image = {
            "PATH": os.pathsep.join([str(self.state / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(self._home()),
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "NEURAPHAGE_DATA_DIR": str(self.state / "neuraphage-data"),
            "VALKEY_PORT": str(self.ports["redis"]),
        }
        return image | {name: self.local(value) for name, value in service.env.items()}

    def _home(self) -> Path:
        return self.state / "neuraphage-data"


def main(argv: Sequence[str]) -> int:
    """`docker compose ...` in the project folder."""
    parser = argparse.ArgumentParser(prog="docker")
    parser.add_argument("compose", choices=["compose"])
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up")
    up.add_argument("-d", action="store_true", required=True)
    for flag in ("--no-deps", "--build", "--force-recreate"):
        up.add_argument(flag, action="store_true")
    up.add_argument("--scale")
    up.add_argument("names", nargs="*")
    for name in ("stop", "kill", "logs", "ps", "build"):
        one = commands.add_parser(name)
        one.add_argument("--tail", type=int, default=None)
        one.add_argument("names", nargs="*")
    for name in ("exec", "run"):
        one = commands.add_parser(name)
        for flag in ("-T", "--rm", "--no-deps"):
            one.add_argument(flag, action="store_true")
        one.add_argument("--index", type=int, default=1)
        one.add_argument("service")
        one.add_argument("argv", nargs=argparse.REMAINDER)
    given = parser.parse_args(argv)
    compose = LocalCompose(Path.cwd())
    match given.command:
        case "up":
            if given.force_recreate:
                compose.stop(given.names)
            compose.up(given.names, int((given.scale or "worker=1").removeprefix("worker=")))
        case "stop":
            compose.stop(given.names)
        case "kill":
            for name, number in compose.running():
                if not given.names or name in given.names:
                    compose.kill(name, number)
        case "logs":
            for name in given.names or ORDER:
                lines = compose.log(name).splitlines()[-(given.tail or 0) :]
                sys.stdout.write("".join(f"{name}-1  | {line}\n" for line in lines))
        case "ps":
            for name, number in compose.running():
                word = "healthy" if compose.healthy(name, number) else "unhealthy"
                sys.stdout.write(f"neuraphage-{name}-{number}   {name}   Up ({word})\n")
        case "exec":
            return compose.execute(given.service, given.argv, given.index)
        case "run":
            return compose.run(given.service, given.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

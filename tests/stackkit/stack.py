"""The stack: one server, one scripted model, and as many workers as a test wants."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import redis
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.client_wiring import build_store
from neuraphage.decide.health import overall
from neuraphage.dev.demo import free_port
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack import StackPlan, beat_argv, environment, make_folders, scripted_spec, worker_argv
from neuraphage.host_health import host_health
from neuraphage.model.health import Health
from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE
from neuraphage.runtime.election import SILENT_S
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.waking import build_dispatcher
from neuraphage.wiring import build_election
from stackkit.launching import Zygote
from stackkit.process import TAIL_CHARS, StackProcess, freeze, send
from stackkit.views import TaskViews
from stackkit.waiting import wait_for

TESTS = Path(__file__).parent.parent
FAST = {
    "heartbeat_s": 0.3,
    "lease_s": 5.0,
    "sweep_s": 0.5,
    "first_republish_s": 5.0,
    "max_republish_s": 10.0,
    "max_recoveries": 3,
}
"""Times of all processes unless a test says otherwise: a live lease is never lost to a slow machine."""
_OURS = "NEURAPHAGE_"


class Stack(TaskViews):
    """Real processes around one data folder. Use as a context manager; nothing outlives it.

    Args:
        folder: an empty folder.
        settings: values that replace FAST.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.values = {**FAST, **settings}
        self.server = EmbeddedServer(folder)
        self.processes: list[StackProcess] = []
        self.zygote: Zygote | None = None
        self._numbers = 0

    def __enter__(self) -> Stack:
        address = self.server.start()
        dropped = (_OURS, "SSL_CERT")  # the scripted model speaks plain HTTP; a missing bundle must not matter
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        inherited["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent)])
        self.plan = StackPlan(
            self.folder,
            address,
            environ=inherited,
            scripted_port=free_port(),
            scripted_arguments=("--script", "plan=stackkit.scripts:plan", "--default", "plan"),
        )
        make_folders(self.plan)
        self.settings = self._settings()
        self.client = Client(self.settings)
        self.dispatcher = build_dispatcher(self.settings)
        self.store: RedisStore = build_store(self.settings)
        self.admin = redis.Redis(unix_socket_path=str(address.socket_path), password=self._password(), db=1)
        try:
            self.zygote = Zygote(inherited, self.plan.log_dir / "zygote.log")
            self.model = self._start_model()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(Exception):
                process.destroy()
        if self.zygote is not None:
            self.zygote.close()
        self.client.close()
        self.admin.close()
        self.server.stop()

    def _password(self) -> str:
        return (self.server.files.folder / "password").read_text(encoding="utf-8").strip()

    def _settings(self, **more: Any) -> Settings:
        return Settings(
            state_url=SecretStr(self.plan.address.state_url),
            broker_url=SecretStr(self.plan.address.broker_url),
            data_dir=self.folder,
            **{**self.values, **more},
        )

    # --- processes ---

    def worker(
        self, *, pool: str = "threads", concurrency: int = 4, name: str = "", events: bool = False, **settings: Any
    ) -> StackProcess:
        """Describe a worker for turns, with events for Flower or without, and remember it; the caller starts it."""
        self._numbers += 1
        name = name or f"{pool}-{self._numbers}"
        argv = list(worker_argv(self.plan, name, RUN_QUEUE, concurrency))
        argv[argv.index("-P", argv.index("worker")) + 1] = pool  # Python has a -P too
        argv += ["-E"] if events else []
        return self._celery(name, argv, model_key=True, settings=settings)

    def start_worker(self, **kind: Any) -> StackProcess:
        """Start a worker and wait until it is ready; see `worker`."""
        worker = self.worker(**kind)
        worker.start()
        return worker

    def start_plain_worker(self, name: str, *arguments: str, app: str = "workers.app", **settings: Any) -> StackProcess:
        """Start `celery -A workers.app worker` with these arguments, at the level of our readiness, and no others."""
        argv = (sys.executable, "-m", "celery", "-A", app, "worker", "-l", "INFO", *arguments)
        worker = self._celery(name, argv, model_key=True, settings=settings)
        worker.start()
        return worker

    def environment(self, *, model_key: bool = False) -> dict[str, str]:
        """What a process of this stack inherits, for one that a test starts by itself."""
        values = {f"{_OURS}{key.upper()}": str(value) for key, value in self.values.items()}
        return environment(self.plan, model_key=model_key) | values

    def start_control(self) -> StackProcess:
        """Start the control worker, which sweeps."""
        process = self._celery("control", worker_argv(self.plan, "control", CONTROL_QUEUE, 2))
        process.start(wait_ready=False)
        return process

    def start_beat(self) -> StackProcess:
        """Start beat."""
        process = self._celery("beat", beat_argv(self.plan), ready_text="beat: Starting")
        process.start(wait_ready=False)
        return process

    def start_second_beat(self) -> StackProcess:
        """Start another beat, with a schedule file of its own."""
        argv = [*beat_argv(self.plan)]
        argv[argv.index("-s") + 1] += "-second"
        process = self._celery("second-beat", argv, ready_text="beat: Starting")
        process.start()
        return process

    def _celery(
        self,
        name: str,
        argv: Any,
        *,
        model_key: bool = False,
        settings: dict[str, Any] | None = None,
        ready_text: str = " ready.",
    ) -> StackProcess:
        values = {**self.values, **(settings or {})}
        env = environment(self.plan, model_key=model_key)
        env |= {f"{_OURS}{key.upper()}": str(value) for key, value in values.items()}
        log = self.plan.log_dir / f"{name}.log"
        log.unlink(missing_ok=True)  # of a process of that name which a test before, or this one's first try, has left
        assert self.zygote is not None
        return self._remember(StackProcess(name, argv, env, log, ready_text=ready_text, launch=self.zygote))

    def _start_model(self) -> StackProcess:
        spec = scripted_spec(self.plan, self.plan.scripted_port or 0)
        process = StackProcess(
            "model", spec.argv, spec.env, self.plan.log_dir / "model.log", ready=spec.ready or (lambda: True)
        )
        self._remember(process).start()
        return process

    def _remember(self, process: StackProcess) -> StackProcess:
        self.processes.append(process)
        return process

    def kill_server(self) -> None:
        """Kill -9 the server and start it again on the same data."""
        pid = self.server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.server.is_alive(), "the server to die", every_s=0.002)
        self.server.start()

    def ensure_shared(self) -> None:
        """Start the control worker and beat unless they run."""
        names = {process.name for process in self.processes if process.is_alive()}
        if "control" not in names:
            self.start_control()
        if "beat" not in names:
            self.start_beat()

    def end_workers(self, *keep: str) -> None:
        """Kill all processes but the model, and but those named."""
        for process in list(self.processes):
            if process is not self.model and process.name not in keep:
                process.destroy()
                self.processes.remove(process)

    def clear(self) -> None:
        """Forget every task and message, and the model's log."""
        self.admin.flushall()
        self.control_model("reset")

    # --- health and logs ---

    def logs(self) -> Iterator[tuple[str, str]]:
        """(name, end of the log) of every process, for a failure."""
        for process in self.processes:
            yield process.name, process.output()[-TAIL_CHARS:]

    def health(self) -> tuple[bool, bool]:
        """(live, ready) of this host's worker processes."""
        return overall(host_health(self.settings))

    def health_rows(self) -> list[Health]:
        """Health of every worker process of this host."""
        return host_health(self.settings)

    def freeze_server(self) -> None:
        """SIGSTOP of the server."""
        assert self.server.pid is not None
        freeze(self.server.pid)

    def thaw_server(self) -> None:
        """SIGCONT of the server."""
        assert self.server.pid is not None
        send(self.server.pid, signal.SIGCONT)

    # --- the watchers of the shared processes ---

    @contextlib.contextmanager
    def frozen_watchers(self) -> Iterator[None]:
        """Freeze the control worker and beat: nobody watches this host, nobody stands in, and no sweep runs."""
        shared = [process for process in self.processes if process.name in ("control", "beat")]
        for process in shared:
            process.freeze()
        over = threading.Event()
        showing = threading.Thread(target=self._show_the_watcher, args=(over,))
        showing.start()
        try:
            yield
        finally:
            over.set()
            showing.join()
            for process in shared:
                process.thaw()

    def _show_the_watcher(self, over: threading.Event) -> None:
        """Let the holder of the watch look alive."""
        while not over.wait(SILENT_S / 10):
            for lock in (self.folder / "watcher").rglob("*.lock"):
                os.utime(lock)

    def watch_is_held(self) -> bool:
        """Whether some process is this host's watcher."""
        election = build_election(self.settings)
        won = election.won()
        election.resign()
        return not won

    # --- the server ---

    def broker_keys(self, pattern: str) -> list[str]:
        """Keys of the broker's database."""
        with self._broker() as broker:
            return [key.decode() for key in broker.scan_iter(match=pattern)]

    def held_unacknowledged(self) -> list[str]:
        """Messages that a worker holds and that can come again; a slow machine always has a sweep among them."""
        with self._broker() as broker:
            return [raw.decode() for key in broker.scan_iter(match="*:unacked") for raw in broker.hvals(key)]

    def turns_held_unacknowledged(self) -> list[str]:
        """Those of turns."""
        return [raw for raw in self.held_unacknowledged() if RUN_QUEUE in json.loads(raw)[1:]]

    def gate(self, name: str) -> Path:
        """A file that is not there, for something to wait for: a test's first try may have left it behind."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        return path

    def push(self, queue: str, raw: bytes) -> None:
        """Put anything into a queue of the broker."""
        with self._broker() as broker:
            broker.lpush(self._queue_key(queue), raw)

    def publish(self, channel: str, raw: bytes) -> None:
        """Publish anything to those who listen at the broker."""
        with self._broker() as broker:
            assert broker.publish(self._queue_key(channel), raw) > 0, "nobody listens"

    def _queue_key(self, queue: str) -> str:
        return f"np:{{{self.settings.namespace}}}:broker:{queue}"

    def message_ids(self, queue: str, task: str) -> list[str]:
        """Ids of the messages about a task that wait in a queue of the broker."""
        with self._broker() as broker:
            ids = [json.loads(raw)["headers"]["id"] for raw in broker.lrange(self._queue_key(queue), 0, -1)]
        return [message_id for message_id in ids if message_id.startswith(task)]

    def drop_connections(self) -> None:
        """Close every client's connection but the one that asks."""
        with self._broker() as broker:
            for kind in ("normal", "pubsub"):
                broker.execute_command("CLIENT", "KILL", "TYPE", kind)

    def _broker(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.plan.address.socket_path), password=self._password())

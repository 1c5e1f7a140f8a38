"""Workers, sweep and watcher of one host inside this process, over a real server and the scripted API."""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fault_parts import HookedModel, QueueDispatcher, StampTool
from fault_server import FaultServer
from pydantic import SecretStr

from neuraphage.api.service import TaskService
from neuraphage.client_wiring import new_task_id
from neuraphage.decide.conversation import tool_calls
from neuraphage.decide.hashing import effect_id
from neuraphage.errors import StoreError
from neuraphage.llm.client import AnthropicClient
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskRecord, TaskSpec
from neuraphage.ports import ProcessRow
from neuraphage.redaction.redactor import Redactor
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.host import host_id, this_process
from neuraphage.runtime.process import WorkerProcess
from neuraphage.runtime.services import Services
from neuraphage.runtime.sweep import Sweep, sweep_quietly
from neuraphage.runtime.watcher import Watcher
from neuraphage.settings import Settings
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.store import invariant, queries
from neuraphage.store.client import connect
from neuraphage.store.presence import NamedConnection
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.scripted_api.server import ScriptedServer
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.turn_files import LocalTurnFiles
from patience import PATIENCE_S
from stackkit.scripts import plan, task_prompt, turn
from turnkit import A_MICROUSD_A_TOKEN, until

FAST = {
    "heartbeat_s": 0.25,
    "lease_s": 1.5,
    "sweep_s": 0.2,
    "first_republish_s": 1.0,
    "max_republish_s": 2.0,
}
SOCKET_TIMEOUT_S = 0.5
"""A tenth of the product's, as the lease is: a frozen server is given up on several times within a lease."""
SLOTS = 4


def stamps(count: int, *, until: Path | None = None, **pace: float) -> str:
    """The prompt of a task that stamps in `count` turns, one a turn, and then ends; held until a file is there."""
    turns = [turn(f"stamp {number}", ("stamp", {"n": number}), until=until, **pace) for number in range(count)]
    return task_prompt(*turns, turn("done", until=until, **pace), note=secrets.token_hex(4))


class World:
    """One worker process (as threads), sweep and watcher. Use as a context manager.

    Args:
        server: the state server.
        folder: for everything else.
        state_url: instead of the server's own, to go through a proxy.
        socket_timeout_s: longest wait of workers and sweep for one reply.
    """

    def __init__(
        self,
        server: FaultServer,
        folder: Path,
        *,
        state_url: str = "",
        socket_timeout_s: float = SOCKET_TIMEOUT_S,
        **settings: Any,
    ) -> None:
        self.server, self.folder = server, folder
        self._socket_timeout_s = socket_timeout_s
        self.settings = Settings(
            namespace=f"w{secrets.token_hex(4)}",
            state_url=SecretStr(state_url or server.address.state_url),
            data_dir=folder / "data",
            **{**FAST, **settings},
        )
        self.clock = SystemClock()
        self.dispatcher = QueueDispatcher()
        self.stamp = StampTool(folder / "stamps")
        self.scripted = ScriptedServer({"plan": plan})
        self.store = self._store()
        self.looking = RedisStore(self.settings, self.clock, client=connect(server.address.state_url))
        self.visits = 0
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.processes: list[WorkerProcess] = []

    def __enter__(self) -> World:
        self.scripted.start()
        client = AnthropicClient(
            self.scripted.url, "key-of-tests", connect_timeout_s=5.0, read_timeout_s=20.0, call_timeout_s=60.0
        )
        self.model = HookedModel(client)
        self.services = Services(
            settings=self.settings,
            clock=self.clock,
            store=self.store,
            dispatcher=self.dispatcher,
            model=self.model,
            tools=default_toolbox(extra=[self.stamp]),
            shell=ShfmtReader(),
            spool=CommandSpool(self.settings.data_dir / "spool", self.settings.spool_max_bytes),
            files=LocalTurnFiles(),
            redaction=Redactor(),
            quote=lambda _: A_MICROUSD_A_TOKEN,
            new_claim_id=lambda: secrets.token_hex(8),
        )
        self.sweep = Sweep(self._store(), self.dispatcher, self.clock, self.settings)
        election = HostElection(self.folder / "watcher", host_id())
        self.watcher = Watcher(self._store(), self.sweep, self.clock, self.settings, host_id(), election)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for process in self.processes:
            process.drain()
        self.watcher.stop()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for process in self.processes:
            process.keeper.stop()
        self.scripted.stop()

    def _store(self) -> RedisStore:
        url = self.settings.state_url.get_secret_value()
        return RedisStore(self.settings, self.clock, client=connect(url, socket_timeout_s=self._socket_timeout_s))

    # --- processes ---

    def start(self, slots: int = SLOTS) -> World:
        """Start everything: a worker process, the sweep, the watcher."""
        self.start_worker(slots)
        self.start_sweep()
        return self

    def start_worker(self, slots: int = SLOTS) -> WorkerProcess:
        """Start one worker process, as threads."""
        process_id, me = secrets.token_hex(8), this_process()
        presence = NamedConnection(self.settings.state_url.get_secret_value(), self.settings.namespace, process_id)
        row = ProcessRow(process_id, host_id(), me.pid, me.start_time, self.clock.wall_ms())
        process = WorkerProcess(
            self.services, self.store, presence, self.clock, self.settings, row, exit_process=lambda code: None
        )
        process.start()
        self.processes.append(process)
        for _ in range(slots):
            self._thread(lambda: self._work(process))
        return process

    def start_sweep(self) -> None:
        """Start the sweep and the watcher."""
        self._thread(self._sweep)
        self.watcher.start()

    def start_eager_visits(self, visitors: int = 3) -> None:
        """Visit leases without a pause, so that a server that is back is visited before any heartbeat reaches it."""
        for _ in range(visitors):
            sweep = Sweep(
                RedisStore(self.settings, self.clock, self.server.client(socket_timeout=0.05)),
                self.dispatcher,
                self.clock,
                self.settings,
            )
            self._thread(partial(self._visit, sweep))

    def _visit(self, sweep: Sweep) -> None:
        while not self._stop.wait(0.005):
            with contextlib.suppress(StoreError):
                sweep.expired(self.clock.wall_ms())
                self.visits += 1

    def _thread(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self, process: WorkerProcess) -> None:
        while not self._stop.is_set():
            try:
                task_id, iteration, seq = self.dispatcher.messages.get(timeout=0.05)
            except queue.Empty:
                continue
            process.run_turn(task_id, seq, iteration)

    def _sweep(self) -> None:
        while not self._stop.wait(self.settings.sweep_s):
            sweep_quietly(self.sweep)

    # --- tasks ---

    @property
    def people(self) -> TaskService:
        return TaskService(self.looking, self.dispatcher, self.services.redaction, lambda: secrets.token_hex(4))

    def submit(self, prompt: str, *, publish: bool = True, **fields: Any) -> str:
        """Submit a task that may use every tool; without its first message if not told to publish."""
        fields = {"allow": ("*",), "model": "scripted-1", "working_dir": str(self.folder)} | fields
        spec = TaskSpec(task_id=new_task_id(), name="A task", prompt=prompt, **fields)
        if publish:
            return self.people.submit(spec)
        return self.looking.create(spec, spec.task_id)[1]

    def get(self, task_id: str) -> TaskRecord:
        return self.looking.get(task_id)

    def events(self, task_id: str, kind: str = "") -> list[Event]:
        lines = queries.events(self.looking.context, task_id)
        return [line for line in lines if kind in ("", line.kind)]

    def requests(self) -> list[dict[str, Any]]:
        """What reached the model, oldest first."""
        entries: list[dict[str, Any]] = self.scripted.log()["entries"]
        return entries

    def wait_marker(self, task_id: str, name: str) -> None:
        """Wait until a task's marker has this name."""
        until(lambda: self.get(task_id).marker.name.value == name)

    def finished(self, tasks: Iterable[str]) -> list[TaskRecord]:
        """Wait until tasks are over; all must be Completed."""
        records = []
        for task_id in tasks:
            until(lambda: self.get(task_id).place is None)  # noqa: B023 - called before the loop goes on
            records.append(self.get(task_id))
        assert [r.status for r in records] == [Status.COMPLETED] * len(records), [r.detail for r in records]
        return records

    # --- what must hold ---

    def check(self, tasks: Iterable[str], *, recoveries: int | None = 0, calls_doubled: int | None = 0) -> None:
        """Each call ran once and after its marker, the model was asked once a turn, nobody was taken for dead.

        Args:
            tasks: finished tasks.
            recoveries: how many there were in all; None for any number.
            calls_doubled: how many requests reached the model more often than once; None for any number.
        """
        assert invariant.violations(self.looking.context) == []
        runs = self.stamp.runs()
        for task_id in tasks:
            self._check_stamps(task_id, runs)
        records = [self.get(task_id) for task_id in tasks]
        if recoveries is not None:
            assert sum(r.counters.recoveries_total for r in records) == recoveries
        assert [e for e in self.requests() if e["outcome"].startswith("refused")] == []
        times = Counter(e["request_hash"] for e in self.requests())
        if calls_doubled is not None:
            assert sum(count - 1 for count in times.values()) == calls_doubled
            assert sum(r.counters.model_calls for r in records) == len(times)

    def _check_stamps(self, task_id: str, runs: Mapping[str, list[int]]) -> None:
        started: dict[str, int] = {}
        for event in self.events(task_id, "ToolStarted"):
            started.setdefault(event.data["id"], event.at_ms or 0)
        for call in self.calls(task_id):
            if call.name != "stamp":
                continue
            times = runs.get(effect_id(task_id, call.tool_use_id, call.params), [])
            assert len(times) == 1, f"{call} of {task_id} ran {len(times)} times"
            assert started[call.tool_use_id] <= times[0], f"{call} ran before its marker was written"

    def calls(self, task_id: str) -> list[Any]:
        """Every tool call of the conversation."""
        entries = queries.conversation(self.looking.context, task_id)
        return [call for e in entries if e["role"] == "assistant" for call in tool_calls(e["content"])]

    def leased(self) -> int:
        """How many tasks are held now."""
        return int(self.server.admin.zcard(self.looking.context.keys.leases))

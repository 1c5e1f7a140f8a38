"""Everything that one process of a crash run works with: real parts, recorded ports, no Celery."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from crash_beside import Beside
from crash_effects import ALLOWED, PLAN, Deposit, Ring

from neuraphage.api.service import TaskService
from neuraphage.client_wiring import redactor
from neuraphage.decide.occurrences import occurrence_id
from neuraphage.decide.prompt_notice import OPENED
from neuraphage.hooks import PreToolUse, Verdict, change, guard
from neuraphage.hooks.guards import LoadedGuards
from neuraphage.llm.client import AnthropicClient
from neuraphage.llm.model_table import ModelTable
from neuraphage.llm.pricing import PriceTable
from neuraphage.model.dependency import Dependency
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.limits import MOST_RUNNING_MS, Limits
from neuraphage.model.prompt import Prompt
from neuraphage.model.schedule import ScheduleDefinition
from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.ports import Interrupt, ProcessRow, Signal, SignalKind, SpoolCommand, SpoolStatus
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.transport import RelayTransport
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.host import host_id, this_process
from neuraphage.runtime.notice_desk import DueNotice, NoticeDesk
from neuraphage.runtime.process import WorkerProcess
from neuraphage.runtime.services import Services
from neuraphage.runtime.sweep import Sweep
from neuraphage.runtime.watcher import Watcher
from neuraphage.settings import Settings
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.store import queries
from neuraphage.store.client import connect
from neuraphage.store.presence import NamedConnection
from neuraphage.store.schedules import RedisSchedules
from neuraphage.store.tasks import RedisStore
from neuraphage.testing import Recorder
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.turn_files import LocalTurnFiles
from patience import PATIENCE_S

API_KEY = "sk-ant-crash-suite-0123456789abcdefghij"
LABEL = "suite=crash"
YEARLY = "yearly"
TASK_ID = "task-00000000-0000-7000-8000-{:012x}"
NOTICE_HOLD_MS = 300
"""A notice whose teller died is told by another process after so long."""
PRICES = PriceTable.packaged()
SIZES = ModelTable.packaged()
STRAY_ID = f"{7:032x}"
STARTS_AT_MS = 4_102_444_800_000
"""The task begins at a time: no run ever comes to it by itself, so that the driver has it come."""
STRAY_LIMIT_S = PATIENCE_S
"""The stray command runs so long when nobody ends it."""


@dataclass(frozen=True)
class Site:
    """Where one case runs.

    Args:
        number: tells the cases apart: namespace, task id.
        folder: working directory, spool and outside world.
        redis_socket: the state server.
        model_url: the scripted API.
        relay: place of the relay that all cases share.
        lease_s: lease length; a heartbeat is a fifth of it.
    """

    number: int
    folder: Path
    redis_socket: Path
    model_url: str
    relay: Path
    lease_s: float = 1.0

    @property
    def task_id(self) -> str:
        return TASK_ID.format(self.number)

    @property
    def old_task_id(self) -> str:
        return TASK_ID.format(0xF00000 + self.number)

    @property
    def follower_id(self) -> str:
        """A task that waits for the end of the case's own, and that no worker of the case takes."""
        return TASK_ID.format(0xE00000 + self.number)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def hold(self) -> Path:
        """While this file is there, waiting does not end a command."""
        return self.folder / "hold"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def told(self) -> Path:
        """Prompts that somebody was told of."""
        return self.outside / "told"

    @property
    def asked_again(self) -> Path:
        """Calls of which a guard was asked although they were begun."""
        return self.outside / "asked_again"

    def prepare(self) -> None:
        """Make the folders, and the file that the task reads; read the settings, before any process is forked."""
        assert self.settings.namespace
        self.work.mkdir(parents=True)
        self.outside.mkdir()
        (self.work / "a.txt").write_text("one\ntwo\n", encoding="utf-8")

    @cached_property
    def settings(self) -> Settings:
        """The same for every process of the case."""
        return Settings(
            state_url=f"unix://{self.redis_socket}?db=0",
            namespace=f"crash{self.number}",
            data_dir=self.folder,
            lease_s=self.lease_s,
            heartbeat_s=self.lease_s / 5,
            sweep_s=0.05,
            first_republish_s=600.0,  # only the driver makes entries due, so no pause of the machine does
            max_republish_s=3_600.0,
            anthropic_base_url=self.model_url,
            turns_per_message="auto",
            max_running=3,  # so that slots are taken, kept through deaths, and given back
            context_window_tokens=200_000,  # so that a reply fills it, see crash_effects.LONG
            live_ttl_s=3_600.0,
        )

    def spec(self) -> TaskSpec:
        return TaskSpec(
            task_id=self.task_id,
            name="Crash suite",
            prompt="Do the plan.",
            model="claude-sonnet-5-5",
            working_dir=str(self.work),
            system=f"Case {self.number}.",  # makes each case's requests its own; never part of the conversation
            allow=ALLOWED,
            permission_timeout_s=3_600.0,
            labels=dict([LABEL.split("=")]),
            starts_at_ms=STARTS_AT_MS,
            limits=Limits(
                max_turns=len(PLAN), max_running_ms=MOST_RUNNING_MS
            ),  # the plan comes to its end only once the limit is raised
        )

    def schedule(self) -> ScheduleDefinition:
        """Its only time of the year has come, and no worker of the case takes the task of that."""
        spec = TaskSpec(task_id=self.follower_id, name="Yearly", prompt="Count.", model="m")
        return ScheduleDefinition(name=YEARLY, cron="0 0 1 1 *", zone="UTC", spec=spec, created_at_ms=1)

    @property
    def yearly_id(self) -> str:
        """The task of the schedule's time."""
        return occurrence_id(self.settings.namespace, self.schedule(), 1)

    def follower_spec(self) -> TaskSpec:
        awaited = (Dependency(task_id=self.task_id),)
        return TaskSpec(task_id=self.follower_id, name="Follower", prompt="Go on.", model="m", blocked_by=awaited)


class ListDispatcher:
    """Implements ports.Dispatcher by a list in another database; refuses one message, as a broker that is away.

    It is the second of one turn, which the sweep sends after a deadline has passed: the next sweep publishes it again.
    The first time it is asked, and each other time after that, it says that a message waits: so turns end both ways,
    for themselves and with the claim of the next one.

    Args:
        site: the case.
    """

    REFUSED_ITERATION, REFUSED_NUMBER = 3, 2

    def __init__(self, site: Site) -> None:
        self._client = connect(f"unix://{site.redis_socket}?db=1")
        self._key = f"messages-{site.number}"
        self._others = {site.follower_id, site.yearly_id}
        self._asked = 0

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        if iteration == self.REFUSED_ITERATION and self._client.incr(f"{self._key}-sent") == self.REFUSED_NUMBER:
            return False
        if task_id in self._others:
            return True  # what becomes of it stays to be seen in its record
        self._client.rpush(self._key, f"{task_id} {seq}")
        return True

    def has_waiting(self) -> bool:
        self._asked += 1
        return self._asked % 2 == 1

    def queue_length(self) -> int | None:
        return int(self._client.llen(self._key))

    def pop(self) -> tuple[str, int] | None:
        """Take the oldest message; it is lost if its taker dies."""
        raw = self._client.lpop(self._key)
        if raw is None:
            return None
        task_id, seq = raw.decode().split()
        return task_id, int(seq)


class ToldFile:
    """Who is told of prompts: a line for each time.

    Args:
        site: the case.
    """

    def __init__(self, site: Site) -> None:
        self._path = site.told

    def tell(self, told: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{told['prompt_id']}\n")


class InStep:
    """Implements ports.PromptNotices without a thread, so that a run's calls are always the same.

    Args:
        desk: decides and marks.
    """

    def __init__(self, desk: NoticeDesk) -> None:
        self._desk = desk

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        for prompt in prompts:
            self._desk.tell(DueNotice(record, prompt, OPENED))

    def look(self) -> None:
        for due in self._desk.due():
            self._desk.tell(due)


class GatedSpool(CommandSpool):
    """A spool whose commands end only once somebody waits for one: so a crash finds them running for certain."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.folder / "spool", 1_000_000)
        self._gate = site.folder / "gate"
        self._hold = site.hold

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> SpoolStatus:
        if not self._hold.exists():
            self._gate.touch()
        return super().wait(effect_id, output_limit_chars, interrupt)


class World:
    """One process of a case. Made after the fork.

    Args:
        site: the case.
        recorder: wraps every port.
    """

    def __init__(self, site: Site, recorder: Recorder) -> None:
        self.site, self.recorder = site, recorder
        self.settings = site.settings
        self.clock = SystemClock()
        self.store = RedisStore(self.settings, self.clock)
        """Not recorded: for looking."""
        self.queue = ListDispatcher(site)
        self.spool = GatedSpool(site)
        """Not recorded: for looking."""
        self.keyless = redactor()
        self._dispatcher = recorder.dispatcher(self.queue)
        self._sweep_store = recorder.sweep_store(self.store)
        self.beside = Beside(self.store, recorder)
        self._renewals = 0
        told = recorder.outside(ToldFile(site))
        desk = NoticeDesk(recorder.notice_store(self.store), told.tell, None, grace_ms=0, hold_ms=NOTICE_HOLD_MS)
        self.notices = InStep(desk)
        self.services = self._services(site)
        me, self.process_id = this_process(), secrets.token_hex(8)
        url = self.settings.state_url.get_secret_value()
        self.presence = NamedConnection(url, self.settings.namespace, self.process_id)
        row = ProcessRow(self.process_id, host_id(), me.pid, me.start_time, self.clock.wall_ms())
        self.process = WorkerProcess(
            self.services, self._sweep_store, self.presence, self.clock, self.settings, row, standby=self.beside
        )
        self.sweep = Sweep(self._sweep_store, self._dispatcher, self.clock, self.settings)
        election = HostElection(site.folder / "watcher", host_id())
        watched = recorder.spool_watch(self.spool)
        self.watcher = Watcher(self._sweep_store, self.sweep, self.clock, self.settings, host_id(), election, watched)
        self.tasks = recorder.task_store(self.store)
        self.people = TaskService(self.tasks, self._dispatcher, self.keyless, lambda: secrets.token_hex(8))
        self.presence.wait(0.001)  # opens the connection; no heartbeat thread runs, see Deposit

    def _services(self, site: Site) -> Services:
        relay = self.recorder.relay(ReplyRelay(RelayPlace(site.relay), RelayLimits()))
        client = AnthropicClient(site.model_url, API_KEY, transport=lambda: RelayTransport(relay))
        extra = [Deposit(site.outside, self._renew), Ring(site.outside)]
        return Services(
            settings=self.settings,
            clock=self.clock,
            store=self.recorder.turn_store(self.store),
            dispatcher=self._dispatcher,
            model=self.recorder.model(client),
            tools=self.recorder.tools(default_toolbox(extra=extra)),
            shell=ShfmtReader(),
            spool=self.recorder.spool(self.spool),
            files=LocalTurnFiles(),
            redaction=self.keyless,
            quote=PRICES.quote,
            new_claim_id=lambda: secrets.token_hex(8),
            notices=self.notices,
            relay=relay,
            model_facts=SIZES.facts,
            guards=LoadedGuards([guard("PreToolUse", name="six")(self._judge)]),
        )

    def _judge(self, call: PreToolUse) -> Verdict | None:
        """A guard that has deposits be of six; who asks it about a call that was begun is written down."""
        entry = queries.journal(self.store.context, call.task_id).get(call.tool_use_id)
        if isinstance(entry, ToolEffect) and (entry.state is EffectState.STARTED or entry.put_back):
            with self.site.asked_again.open("a", encoding="utf-8") as file:
                file.write(f"{call.tool_use_id}\n")
        return change(params={"amount": 6}) if call.tool == "deposit" else None

    def _renew(self) -> None:
        """By turns as the worker's own heartbeat does, and as the process beside a stuck worker does."""
        self._renewals += 1
        if self._renewals % 2:
            self.process.keeper.renew_now()
        else:
            self.beside.stand_in()

    def plant_old_task(self) -> None:
        """An ended task whose retention is over: the sweep has to delete it."""
        spec = self.site.spec().model_copy(update={"task_id": self.site.old_task_id})
        self.store.create(spec, "old")
        self.store.signal(spec.task_id, Signal(SignalKind.CANCEL, "old"))
        self.store.context.client.zadd(self.store.context.keys.retention, {spec.task_id: 1})

    def plant_schedule(self) -> None:
        """A schedule whose time has come: the sweep has to make its task."""
        RedisSchedules(self.store.context).add(self.site.schedule(), 1)

    def plant_stray_command(self) -> None:
        """A command whose task is over: the watcher has to end it."""
        argv = ("/bin/sleep", f"{STRAY_LIMIT_S:.0f}")
        command = SpoolCommand(STRAY_ID, argv, str(self.site.work), STRAY_LIMIT_S, {}, self.site.old_task_id)
        self.spool.start(command)

"""One worker process of `run_turns`: real parts but for Celery and the model, in a forked child."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuraphage.api.service import TaskService
from neuraphage.client_wiring import redactor
from neuraphage.errors import StoreError
from neuraphage.model.place import Place
from neuraphage.model.prompt import Prompt
from neuraphage.model.recovery import Evidence
from neuraphage.model.usage import Price, PriceQuote
from neuraphage.ports import ModelClient, ProcessRow, Tool
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.host import host_id, this_process
from neuraphage.runtime.process import WorkerProcess
from neuraphage.runtime.services import Services
from neuraphage.runtime.sweep import Sweep
from neuraphage.settings import Settings
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.store.presence import NamedConnection
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.marker_kills import KillAt, KillingStore
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.turn_files import LocalTurnFiles

STEP_LIMIT = 1_000
_LOOK_AGAIN_S = 0.01


class NoBroker:
    """Implements ports.TurnDispatcher: nobody listens, the record says what is next."""

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:  # noqa: ARG002 - the port's shape
        """See ports.Dispatcher."""
        return True

    def has_waiting(self) -> bool:
        """See ports.TurnDispatcher."""
        return False

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        return 0


A_MICROUSD_A_TOKEN = PriceQuote(
    price=Price(input_microusd=1_000_000, output_microusd=1_000_000, cache_write_microusd=0, cache_read_microusd=0),
    known=True,
)
"""What a model costs where nobody is billed."""


@dataclass(frozen=True, slots=True)
class TurnProcess:
    """What a process works with; nothing of it is open before `work`.

    Args:
        settings: server, namespace, folder.
        tools: of the test.
        model: answers.
        answer: what a person says to a prompt; None leaves every prompt open.
        notes: file for the markers.
    """

    settings: Settings
    tools: Sequence[Tool]
    model: ModelClient
    answer: Callable[[Prompt], str] | None
    notes: Path

    def work(self, task_id: str, kill: KillAt | None) -> None:
        """Advance the task until it is over, waits for a person, or this process is killed."""
        settings, clock = self.settings, SystemClock()
        store = RedisStore(settings, clock)
        services = Services(
            settings=settings,
            clock=clock,
            store=KillingStore(store, kill, self.notes),
            dispatcher=NoBroker(),
            model=self.model,
            tools=default_toolbox(extra=self.tools),
            shell=ShfmtReader(),
            spool=CommandSpool(settings.data_dir / "spool", settings.spool_max_bytes),
            files=LocalTurnFiles(),
            redaction=redactor(),
            quote=lambda _: A_MICROUSD_A_TOKEN,
            new_claim_id=lambda: secrets.token_hex(8),
        )
        me, process_id = this_process(), secrets.token_hex(8)
        presence = NamedConnection(settings.state_url.get_secret_value(), settings.namespace, process_id)
        row = ProcessRow(process_id, host_id(), me.pid, me.start_time, clock.wall_ms())
        process = WorkerProcess(services, store, presence, clock, settings, row)
        process.start()
        people = TaskService(store, services.dispatcher, services.redaction, lambda: secrets.token_hex(8))
        sweep = Sweep(store, services.dispatcher, clock, settings)
        for _ in range(STEP_LIMIT):
            record = store.get(task_id)
            if record.place == Place.OUTBOX:
                process.run_turn(task_id, record.seq, record.counters.iteration)
            elif record.place == Place.TIMERS:
                time.sleep(_LOOK_AGAIN_S)
                sweep.timers(store.now_ms())
            elif record.place == Place.WAITS and self.answer is not None and record.prompts:
                for prompt in record.prompts:
                    people.answer(task_id, prompt.prompt_id, self.answer(prompt))
            else:
                break
        else:
            raise AssertionError(f"the task is not over after {STEP_LIMIT} steps: {store.get(task_id)}")
        process.leave()


def recover(settings: Settings, task_id: str) -> None:
    """Take the task from a process that is gone, as a watcher does at once."""
    store = RedisStore(settings, SystemClock())
    sweep = Sweep(store, NoBroker(), SystemClock(), settings)
    for held in store.held_tasks(until_ms=None, limit=1_000):
        if held.task_id == task_id:
            sweep.recover(held, Evidence.GONE)
    try:
        store.unregister([row.process_id for row in store.registered()])
    except StoreError as error:  # pragma: no cover - the server went away in the midst of a test
        raise AssertionError(f"the dead process could not be forgotten: {error}") from error

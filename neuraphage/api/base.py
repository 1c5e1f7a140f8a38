"""What every part of the application service stands on."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from neuraphage.errors import CorruptRecord
from neuraphage.inside_command import refuse_inside_command
from neuraphage.model.model_facts import SMALLEST, ModelFacts
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.api.service import TaskService
    from neuraphage.model.tool_traits import ToolTraits
    from neuraphage.model.usage import PriceQuote
    from neuraphage.ports import (
        AddRule,
        Clock,
        ObserverStore,
        ReadStore,
        Redaction,
        ScheduleStore,
        TaskStore,
        Waker,
        WorkingFiles,
    )

_WHOLE_ID = re.compile(r"task-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ApiPorts:
    """The seams of the application service.

    Args:
        settings: defaults of new tasks, and what explains a task.
        tasks: creates and signals.
        reads: what people are shown.
        waker: sends wake-ups.
        redaction: gives what takes secrets out of what people write; asked at each text, so that a read makes none.
        files: working directories of this machine.
        add_rule: keeps a rule that a person makes with an answer.
        traits: what is known of a tool by its name; one that is not known here has none.
        clock: local time.
        new_task_id: ids of tasks, ordered by time.
        new_key: random idempotency keys.
        who: name of the person who uses it, for others who answer the same task.
        close: closes the connections that the seams share.
        model_facts: sizes of a model, by its id.
        tool_definitions: the tools as a request has them, of this machine.
        calling_task: id of the task whose command gives the orders, which are then refused; empty when none does.
        quote: the price of a model by the settings; None where nobody asks.
        observers, schedules: give what is stored of observers, and of schedules; None where nobody asks.
    """

    settings: Settings
    tasks: TaskStore
    reads: ReadStore
    waker: Waker
    redaction: Callable[[], Redaction]
    files: WorkingFiles
    add_rule: AddRule
    traits: Callable[[str], ToolTraits]
    clock: Clock
    new_task_id: Callable[[], str]
    new_key: Callable[[], str]
    who: str
    close: Callable[[], None]
    calling_task: str = ""
    model_facts: Callable[[str], ModelFacts] = lambda _: SMALLEST
    tool_definitions: Callable[[], list[dict[str, Any]]] = list
    quote: Callable[[str], PriceQuote] | None = None
    observers: Callable[[], ObserverStore] | None = None
    schedules: Callable[[], ScheduleStore] | None = None


class ApiBase:
    """The part that all others share: finding a task, and the end.

    Args:
        ports: what it stands on.
    """

    def __init__(self, ports: ApiPorts) -> None:
        self.settings = ports.settings
        self._ports = ports

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; nothing works after it."""
        self._ports.waker.close()
        self._ports.close()

    def find(self, prefix: str) -> str:
        """The full id of the one task that fits.

        Args:
            prefix: a whole id, or any unique part of one; an ellipsis around it counts nothing.

        Raises:
            TaskNotFound: none fits. A whole id is not looked up, so it is returned as it is.
            BadInput: several fit, or the text is empty.
            StoreUnavailable, StoreError: the ids could not be read.
        """
        whole = prefix.strip()
        return whole if _WHOLE_ID.fullmatch(whole) else self._ports.reads.find(prefix)

    def _existing(self, task_id: str) -> str:
        """The full id of a task that exists; also of one whose record cannot be read, so that it can be looked into."""
        full_id = self.find(task_id)
        with contextlib.suppress(CorruptRecord):
            self._ports.reads.get(full_id)
        return full_id

    @property
    def _service(self) -> TaskService:
        """What carries requests out. What is wrong with the broker's URL is said before a write.

        Raises:
            BadInput: the request comes from inside a command of a task.
            SettingsError: the broker's URL cannot be read.
        """
        from neuraphage.api.service import TaskService  # noqa: PLC0415 - only for what changes a task

        ports = self._ports
        refuse_inside_command("the request", ports.calling_task)
        ports.waker.check()
        return TaskService(ports.tasks, ports.waker, ports.redaction(), ports.new_key, ports.add_rule, ports.who)

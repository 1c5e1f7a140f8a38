"""Schedules: tasks that are made again and again (docs/schedules.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import ValidationError

from neuraphage.api.base import ApiBase, ApiPorts
from neuraphage.api.start_time import zone_here
from neuraphage.api.tasks import Tasks
from neuraphage.decide.cron import next_time_ms, read_cron
from neuraphage.decide.occurrences import zone_of
from neuraphage.errors import BadInput
from neuraphage.inside_command import refuse_inside_command
from neuraphage.model.schedule import MOST_SCHEDULES, Overlap, ScheduleChange, ScheduleDefinition, ScheduleVerdict

if TYPE_CHECKING:
    from neuraphage.model.attachment import Attachment
    from neuraphage.model.schedule import Schedule
    from neuraphage.model.task import TaskSpec
    from neuraphage.ports import ScheduleStore

OF_ONE_TASK = frozenset({"at", "attachments", "blocked_by", "followed", "key", "on_parent_end", "parent"})
"""What `submit` takes that tasks of a schedule cannot have."""


class Schedules(ApiBase):
    """Schedules of the namespace. The sweep of the control queue makes their tasks."""

    def add_schedule(
        self,
        name: str,
        cron: str,
        prompt: str,
        *,
        overlap: Overlap = Overlap.SKIP,
        zone: str | None = None,
        **fields: Any,
    ) -> Schedule:
        """Have a task made at each time of an expression.

        Args:
            name: of the schedule: letters, digits, dots, underscores and hyphens.
            cron: minute, hour, day of the month, month, day of the week, as `*/15 8-18 * * mon-fri`.
            prompt: what each task is to do.
            overlap: what happens at a time at which its last task is not over.
            zone: name of the zone whose clocks it goes by; that of this machine when not given.
            fields: as of `submit`, but those of one task alone (`at`, `blocked_by`, `parent`, `key`, `attachments`).

        Raises:
            BadInput: the expression, the zone or a field is none, or there is a schedule of that name.
            StoreUnavailable, StoreError: it is not known whether it was stored; `schedules` tells.
        """
        if others := sorted(OF_ONE_TASK & fields.keys()):
            raise BadInput(f"a schedule takes no {' and no '.join(others)}: each of its tasks is made anew")
        zone = zone or zone_here()
        times = read_cron(cron), zone_of(zone)
        template = _Template(self._ports)
        template.submit(prompt, **fields)
        store = self._kept()
        now_ms = store.now_ms()
        whole = {"name": name, "cron": " ".join(cron.split()), "zone": zone, "overlap": overlap, "spec": template.spec}
        try:
            definition = ScheduleDefinition(**whole, created_at_ms=now_ms)
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(
                f"the schedule's {'.'.join(map(str, first['loc']))} {first['input']!r}: {first['msg']}; a name has"
                " letters, digits, dots, underscores and hyphens"
            ) from None
        match store.add(definition, next_time_ms(*times, now_ms)):
            case ScheduleVerdict.EXISTS:
                raise BadInput(f"there is a schedule {name!r} already; remove it first, or give another name")
            case ScheduleVerdict.TOO_MANY:
                raise BadInput(f"there are {MOST_SCHEDULES:,} schedules, which is the most; remove one first")
        return self.schedule(name)

    def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name.

        Raises:
            CorruptRecord: one cannot be read.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._kept().schedules()

    def schedule(self, name: str) -> Schedule:
        """One schedule.

        Raises:
            BadInput: there is none of that name. Else see `schedules`.
        """
        return next((one for one in self.schedules() if one.definition.name == name), None) or _none(name)

    def pause_schedule(self, name: str) -> None:
        """Have a schedule make no tasks until it is resumed; tasks that it has made go on.

        Raises:
            BadInput: there is none of that name, or a command of a task asks for it.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it.
        """
        self._change(name, ScheduleChange.PAUSE)

    def resume_schedule(self, name: str) -> None:
        """Go on with a paused schedule from its next time on: those that it missed meanwhile are not made up for.

        Raises:
            BadInput, StoreUnavailable, StoreError: see `pause_schedule`.
        """
        definition, store = self.schedule(name).definition, self._kept()
        next_ms = next_time_ms(read_cron(definition.cron), zone_of(definition.zone), store.now_ms())
        self._change(name, ScheduleChange.RESUME, next_ms)

    def remove_schedule(self, name: str) -> None:
        """Remove a schedule; tasks that it has made stay.

        Raises:
            BadInput, StoreUnavailable, StoreError: see `pause_schedule`.
        """
        self._change(name, ScheduleChange.REMOVE)

    def _change(self, name: str, change: ScheduleChange, next_ms: int = 0) -> None:
        refuse_inside_command("changing schedules", self._ports.calling_task)
        if self._kept().change(name, change, next_ms) is ScheduleVerdict.NOT_FOUND:
            _none(name)

    def _kept(self) -> ScheduleStore:
        if self._ports.schedules is None:
            raise BadInput("nothing is known of schedules here")
        return self._ports.schedules()


def _none(name: str) -> NoReturn:
    raise BadInput(f"there is no schedule {name!r}; `neuraphage schedules list` lists them")


class _Template(Tasks):
    """What `submit` would store: that of which a schedule makes its tasks."""

    def __init__(self, ports: ApiPorts) -> None:
        super().__init__(ports)
        self.spec: TaskSpec | None = None

    def _submitted(self, spec: TaskSpec, key: str | None, shown_with: tuple[Attachment, ...]) -> str:  # noqa: ARG002 - as of Tasks
        self.spec = self._service.cleaned(spec)
        return spec.task_id

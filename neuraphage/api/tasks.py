"""New tasks, and what changes one: pause, resume, cancel, retry, reset, limit, wake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from neuraphage.api.checking import Attachable, attached, new_limits, one_line, readable, require_narrow
from neuraphage.api.limiting import Limiting
from neuraphage.api.models import asked_models
from neuraphage.api.start_time import start_ms
from neuraphage.decide.child_spec import below
from neuraphage.errors import BadInput
from neuraphage.model.dependency import Dependency
from neuraphage.model.limits import Limits
from neuraphage.model.place import Place
from neuraphage.model.subtask import OnParentEnd
from neuraphage.model.task import Mode, OnUnknownOutcome, TaskSpec
from neuraphage.setting_values import MAX_S

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from neuraphage.model.attachment import Attachment
    from neuraphage.ports import Signalled


class Tasks(Limiting):
    """Every request that changes a task, but what people say to it (see `People`).

    Args of each request: `task_id` is the task's id or any unique part of it; `key` is an idempotency key, a repeat
    under the same one changes nothing. Each returns the verdict, ACCEPTED or REPEATED, and where the task stands then.

    Raises of each request:
        TaskNotFound: there is no such task.
        IllegalMove: it stands where it takes no such request; the message names what goes on with it.
        BadInput: several tasks fit.
        StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same key.
    """

    def submit(  # noqa: PLR0913 - every field of a task is a keyword; nothing is positional but the prompt
        self,
        prompt: str,
        *,
        working_dir: str | None = None,
        name: str | None = None,
        model: str | None = None,
        allow: Iterable[str] = (),
        mode: Mode = Mode.AUTONOMOUS,
        on_unknown_outcome: OnUnknownOutcome = OnUnknownOutcome.TELL_MODEL,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_tree_turns: int | None = None,
        max_running_for: float | timedelta | None = None,
        system: str = "",
        tags: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
        priority: int = 2,
        permission_timeout_s: float | Literal["none"] | None = None,
        key: str | None = None,
        force: bool = False,
        followed: bool = False,
        extra: Mapping[str, Any] | None = None,
        attachments: Iterable[Attachable] = (),
        blocked_by: Iterable[str | Dependency] = (),
        parent: str | None = None,
        on_parent_end: OnParentEnd | None = None,
        at: datetime | None = None,
    ) -> str:
        """Submit a task.

        Args:
            prompt: what to do.
            working_dir: directory the tools work in (an absolute path on the workers' machine).
            name: one line for lists; from the prompt when not given.
            model: id of a model, or the name of a tier, which is resolved now; that of the settings when not given.
            allow: tools that need no asking, `*` for all, or some of their calls: `run_command: pytest *`.
            mode: whether the model's end_turn completes the task or waits for the next message.
            on_unknown_outcome: what to do about an interrupted command whose outcome nothing knows.
            max_turns, max_cost_usd, max_tree_turns: limits of turns, of money in dollars, of turns with all subtasks.
            max_running_for: limit of the time that workers have it, seconds or a length; none when not given.
            system: extra system prompt text.
            tags: free words.
            labels: what its money is counted under, as `{"team": "web"}`; a label may have a pool (docs/money.md).
            priority: 0 (critical) to 4 (low).
            permission_timeout_s: seconds until an unanswered permission counts as denied, "none" for no limit; that of
                the settings when not given.
            key: idempotency key; a repeat returns the first task's id.
            force: take a working directory that is too wide: `/`, a home folder, or one that holds the data folder or
                lies in it.
            followed: it will be followed: pieces of its replies are kept from before any worker has it, so
                that not one is missed by whoever begins to follow a little later.
            extra: further fields of each request to the model (`temperature`, `thinking` ...), beside those of the
                settings; None for those alone.
            attachments: images and documents (png, jpeg, gif, webp, pdf) that the model is shown with the prompt:
                files of this machine, or bytes. They are stored as they are: no secret is taken out of them.
            blocked_by: tasks that must end first, each by id or as a Dependency that says what happens when it fails
                (docs/graph.md); until then the task is Blocked.
            parent: task whose subtask it is to be (docs/subtasks.md): that one is given its result, and its money comes
                out of that of the parent. Where nothing else is given, it works in the parent's directory.
            on_parent_end: what becomes of it when its parent is over; it is cancelled unless this says otherwise.
            at: when it begins (docs/schedules.md), by the server's clock; in this machine's zone unless it has one.

        Returns:
            The task's id.

        Raises:
            BadInput: an argument is out of its range or of no use, the working directory is too wide, or the time is
                past.
            TaskNotFound: a task that must end first, or the parent, is not stored.
            IllegalMove: the parent is over.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same `key`.
        """
        above = None if parent is None else self._ports.reads.get(self.find(parent))
        if above is not None:
            working_dir = working_dir or above.spec.working_dir
        if working_dir is not None and not force:
            require_narrow(self._ports.files, working_dir, self.settings.data_dir)
        shown_with = attached(self.settings, attachments)
        asked = asked_models(self.settings, self._ports.redaction, model, extra)
        work = {"working_dir": working_dir, "system": system, **asked}
        words = {"tags": tuple(tags), "labels": dict(labels or {})}
        shown = {"name": name, **words, "priority": priority, "on_unknown_outcome": on_unknown_outcome}
        asking = {"allow": tuple(allow), "mode": mode, "permission_timeout_s": permission_timeout_s}
        self._ports.waker.prepare()  # a new task always needs it: nothing is to come between write and message
        awaited = {"blocked_by": tuple(self._dependency(one) for one in blocked_by), "starts_at_ms": start_ms(at)}
        limits = new_limits(self.settings, max_turns, max_cost_usd, max_tree_turns, max_running_for)
        spec = self._spec(prompt, limits, {**work, **shown, **asking, **awaited})
        if above is not None:
            spec = below(above, spec, on_parent_end, self.settings.max_task_depth)
        if followed:
            self._ports.reads.watch(spec.task_id)
        return self._submitted(spec, key, shown_with)

    def _submitted(self, spec: TaskSpec, key: str | None, shown_with: tuple[Attachment, ...]) -> str:
        return self._service.submit(spec, key, shown_with)

    def _dependency(self, awaited: str | Dependency) -> Dependency:
        """A dependency by its full id."""
        given = Dependency.trusted(task_id=awaited) if isinstance(awaited, str) else awaited
        return Dependency(task_id=self.find(given.task_id), on_failure=given.on_failure)

    def _timeout_s(self, given: float | Literal["none"] | None) -> float | None:
        """How long permissions of a new task wait, as its spec holds it: None is no limit, never "not given"."""
        timeout_s = self.settings.permission_timeout_s if given is None else given
        if timeout_s == "none":
            return None
        if not 0 < timeout_s <= MAX_S:
            raise BadInput(f'permission_timeout_s is {timeout_s}; give seconds, or "none"')
        return timeout_s

    def _spec(self, prompt: str, limits: Mapping[str, Any], given: Mapping[str, Any]) -> TaskSpec:
        """A new task as it is stored. See `submit`."""
        if not prompt.strip():
            raise BadInput("the prompt is empty; write what the task should do")
        fields = {
            **given,
            # redacted before the cut, which could halve a secret
            "name": given["name"] or one_line(self._ports.redaction().text(prompt)),
            "allow": readable(given["allow"]),
            "permission_timeout_s": self._timeout_s(given["permission_timeout_s"]),
        }
        try:
            return TaskSpec(
                task_id=self._ports.new_task_id(),
                prompt=prompt,
                max_tokens=self.settings.max_tokens,
                limits=Limits.model_validate(limits),
                created_at_ms=self._ports.clock.wall_ms(),
                **fields,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from None

    def pause(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Stop after the step in hand, until resumed.

        Raises:
            IllegalMove: the task is over or paused. Else see the class.
        """
        return self._service.pause(self.find(task_id), key)

    def resume(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Go on with a paused task.

        Raises:
            IllegalMove: the task is not paused.
            LimitReached: it would fail at once; nothing was changed. Raise its limit first. Else see the class.
        """
        return self._service.resume(self.find(task_id), key)

    def cancel(self, task_id: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """End a task; a running effect is stopped.

        Args:
            reason: kept with the task.

        Raises:
            IllegalMove: the task is over. Else see the class.
        """
        return self._service.cancel(self.find(task_id), reason, key)

    def retry_reply(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Ask the model again for its last reply, in a conversation that waits for a person or a completed task.

        The reply is superseded: it stays stored, and the model is not sent it any more. It reaches back to the last
        message of a person or result of a tool, so what tools did stays known. Its cost stays counted. The limit of
        turns counts anew, as from a message.

        Raises:
            IllegalMove: the task stands elsewhere.
            LimitReached: it has spent its money; nothing was changed.
            BadInput: the last that the model did were calls of tools, or the task has gone on meanwhile. Else see the
                class.
        """
        record = self._ports.reads.get(self.find(task_id))  # first: its number tells whether the rest still fits
        return self._service.retry_reply(record, self._ports.reads.conversation(record.task_id, 0), key)

    def wake(self, task_id: str) -> bool:
        """Send the wake-up message of a task that waits for a worker again.

        Returns:
            Whether it waits for one and the broker took the message.

        Raises:
            TaskNotFound, BadInput, CorruptRecord, StoreUnavailable, StoreError: see `get`.
        """
        record = self._ports.reads.get(self.find(task_id))
        if record.place != Place.OUTBOX:
            return False
        turn = record.counters.iteration
        return self._ports.waker.publish_turn(record.task_id, turn, record.seq, record.marker.name.value)

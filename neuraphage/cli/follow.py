"""Follows a task on a console until it rests: the same view for every command that shows a task as it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from neuraphage.api import Api
from neuraphage.api.transcript import Transcript
from neuraphage.cli.ask import Asker
from neuraphage.cli.console import console, short_id
from neuraphage.cli.hints import command_line, typed_here
from neuraphage.cli.json_lines import JsonLines
from neuraphage.cli.line_reader import person_here
from neuraphage.cli.prompts import show_prompt
from neuraphage.cli.task_view import Show, TaskView, used
from neuraphage.cli.traits import traits_of
from neuraphage.cli.viewer import Viewer
from neuraphage.model.place import Place
from neuraphage.model.prompt import PromptKind
from neuraphage.model.shown import ShownPrompt
from neuraphage.model.task import TERMINAL, Status, TaskRecord

POLL_S = 0.05
"""Events are shown within this time; well under the 200 ms that people notice."""
NO_WORKER_S = 5.0
"""After so long without a worker a person is told how one is started."""
RESTING = TERMINAL | {Status.WAITING_FOR_USER, Status.PAUSED}


@dataclass(frozen=True)
class Scene:
    """What a task is shown with.

    Args:
        show: writes.
        asker: asks in place; None when nobody is at a terminal.
        transcript: the conversation.
        viewer: writes comments and prompts; None for JSON.
        prompts: the open prompts of a record, as a person is to see them.
    """

    show: Show
    transcript: Transcript
    viewer: Viewer | None = None
    asker: Asker | None = None
    prompts: Callable[[TaskRecord], Sequence[ShownPrompt]] = field(default=lambda _: (), repr=False)


class WorkerHint:
    """Says once how a worker is started, when none takes the task for long.

    Args:
        show: writes.
    """

    def __init__(self, show: Show) -> None:
        self._show = show
        self._offered_since_s = time.monotonic()

    def look(self, record: TaskRecord) -> None:
        """Take in how the task stands now."""
        now_s = time.monotonic()
        if record.place != Place.OUTBOX:
            self._offered_since_s = now_s
        elif now_s - self._offered_since_s > NO_WORKER_S:
            self._offered_since_s = math.inf  # said once
            self._show.line(f"no worker has taken the task for {NO_WORKER_S:g} s; is one running?", "yellow")
            start, look = command_line("dev"), command_line("health")
            self._show.line(f"  start one with `{start}`, or see: {look}", "dim")


def scene(api: Api, task_id: str, *, as_json: bool, reached: Callable[[str], str] = typed_here) -> Scene:
    """The view of one task: JSON, or for people; with a person at the terminal it also asks.

    Args:
        api: reads, and sends answers.
        task_id: full id.
        as_json: one document a line, and nobody is asked.
        reached: makes the commands in a text reach the stack that the task is on.
    """
    transcript = Transcript(lambda first: api.conversation(task_id, first=first), traits_of)
    if as_json:
        return Scene(JsonLines(), transcript, prompts=api.shown_prompts)
    viewer = Viewer(console(), reached)
    view, person = TaskView(viewer, transcript), person_here()
    asker = None if person is None else Asker(api, viewer, person, view.answered_here)
    return Scene(view, transcript, viewer, asker, api.shown_prompts)


def follow(
    api: Api,
    task_id: str,
    shown: Scene,
    *,
    after: str = "0",
    on_round: Callable[[TaskRecord], None] | None = None,
) -> TaskRecord:
    """Show a task until it is over, paused, or waits for a person who is not here.

    Args:
        api: reads.
        task_id: full id.
        shown: what with.
        after: show what comes after this event.
        on_round: called with the present record, many times a second.
    """
    quiet = True
    try:
        for item in api.follow(task_id, after=after, poll_s=POLL_S):
            if not isinstance(item, TaskRecord):
                quiet = False
                shown.show.show(item)
                continue
            if on_round is not None:
                on_round(item)
            if quiet and item.status in RESTING and not _attended(item, shown.asker):
                break
            shown.show.progress(item)
            quiet = True
    finally:
        shown.show.end_text()
        if shown.asker is not None:
            shown.asker.close()
    return api.get(task_id)


def _attended(record: TaskRecord, asker: Asker | None) -> bool:
    return record.status is Status.WAITING_FOR_USER and asker is not None and asker.attend(record)


def left_talking(shown: Scene, record: TaskRecord) -> bool:
    """Whether a person has left a conversation, which waits for its next message: nothing went wrong."""
    talks = any(prompt.kind is PromptKind.CONVERSATION for prompt in record.prompts)
    return shown.asker is not None and record.status is Status.WAITING_FOR_USER and talks


def tell_end(shown: Scene, record: TaskRecord, commands: Callable[[TaskRecord], list[str]]) -> None:
    """Say how a task stands that is not followed any more, and what goes on from there.

    Args:
        shown: what with.
        record: how it stands.
        commands: command lines that go on with a task that waits, is paused or has failed.
    """
    if isinstance(shown.show, JsonLines):
        shown.show.end(record, shown.prompts(record))
    if shown.viewer is None:
        return
    if record.status in TERMINAL:
        count = record.counters.iteration
        done = "" if record.status is Status.COMPLETED else " done"  # the last one ended in its middle
        shown.viewer.line(f"  {count} turn{'' if count == 1 else 's'}{done}, {used(record)}", "dim")
    if shown.asker is None and record.status is Status.WAITING_FOR_USER:
        for prompt in shown.prompts(record):
            if not show_prompt(shown.viewer, prompt):
                shown.viewer.line(f"  all of it: {command_line('answer', short_id(record.task_id))}", "dim")
    for command in commands(record):
        shown.viewer.line(f"  {command}", "dim")

"""`neuraphage events`: what happened to a task or to all tasks, line by line, resumable after any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from time import time_ns
from typing import TYPE_CHECKING, Annotated

import typer

from neuraphage.api.transcript import Transcript
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.completion import task_ids
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import harmless, hint, local_time, print_wrapped, short_id
from neuraphage.cli.event_text import STYLES, event_text
from neuraphage.cli.hints import typed_here
from neuraphage.cli.json_lines import JsonLines
from neuraphage.cli.told_calls import told
from neuraphage.cli.traits import traits_of
from neuraphage.decide.event_position import START, kinds_of, position
from neuraphage.errors import BadInput, StoreUnavailable
from neuraphage.model.event import Event
from neuraphage.model.event_stream import EventGap, GapKind

if TYPE_CHECKING:
    from neuraphage.api import Api


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage events --follow --kind security --since 15m")(events)


def events(
    task_id: Annotated[
        str | None, typer.Argument(help="Of this task alone: id, or any unique part of it.", autocompletion=task_ids)
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="Of these tasks among all; may be repeated.", autocompletion=task_ids),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="Only such: TaskFailed, or a group: lifecycle, iteration, cross-task, security, drift, recovery.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", "--after", help="Only behind this event id, or since: 90s, 15m, 2h, 2026-04-05T17:04."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on: of one task until it is over.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a task, or to all tasks, oldest first.

    Each line begins with its event id; --since ID goes on behind it. Without a task, --follow begins with what comes
    now where --since says nothing else. With --json: one JSON document a line. docs/events.md has every kind.
    """
    if task_id is not None and task:
        raise BadInput("give one task as the argument, or several with --task, not both")
    kinds = kinds_of(kind or ())
    after = None if since is None and follow and task_id is None else _position(since)
    with _connected(follow) as api:
        if task_id is None:
            found = _show_all(api.follow(since=after, kinds=kinds, tasks=task or (), wait=follow), as_json)
        else:
            found = _show_task(api, api.find(task_id), after or START, kinds, follow=follow, as_json=as_json)
    if not found and not as_json:
        hint(f"nothing after {since or START} yet; wait for it with --follow")


def _position(since: str | None) -> str:
    return position(START if since is None else since, time_ns() // 1_000_000)


def _connected(follow: bool) -> AbstractContextManager[Api]:
    return connect() if follow else connect_to_read()


def _show_task(api: Api, task_id: str, after: str, kinds: frozenset[str], *, follow: bool, as_json: bool) -> bool:
    transcript = Transcript(lambda first: api.conversation(task_id, first=first), traits_of)
    found = api.events(task_id, after=after, follow=follow)
    # a line that is left out is read along all the same: what a call came to is told by the transcript
    texts = ((event, "" if as_json else told(event, transcript)) for event in found)
    wanted = ((event, text) for event, text in texts if not kinds or event.kind in kinds)
    return _show(wanted, JsonLines().show if as_json else None)


def _show_all(found: Iterable[Event | EventGap], as_json: bool) -> bool:
    lines = JsonLines()

    def texts() -> Iterator[tuple[Event, str]]:
        for item in found:
            if isinstance(item, Event):
                yield item, f"{short_id(item.task_id or '')}  {event_text(item)}"
            elif as_json:
                lines.gap(item)
            else:
                hint(_gap_text(item))

    return _show(texts(), lines.show if as_json else None)


def _show(found: Iterator[tuple[Event, str]], as_json: Callable[[Event], None] | None) -> bool:
    """Write lines as they come; whether there were any. Where the server stays away, it is told how to go on."""
    last = None
    try:
        for event, text in found:
            last = event.event_id
            if as_json is not None:
                as_json(event)
            else:
                _line(event, text)
    except StoreUnavailable:
        if last is not None:
            hint(f"to go on behind the last line: --since {last}")
        raise
    return last is not None


def _line(event: Event, text: str) -> None:
    head = f"{event.event_id}  {local_time(event.at_ms)}  "
    print_wrapped(harmless(f"{head}{typed_here(' '.join(text.split()))}", STYLES.get(event.kind, "")), "  ")


def _gap_text(gap: EventGap) -> str:
    until = f"; it goes on with {gap.until}" if gap.until else ""
    if gap.why is GapKind.TRIMMED:
        return f"events after {gap.after} are not kept any more (namespace_events_max){until}"
    return (
        f"the state server does not know the event {gap.after}: it was put back or replaced, and events around it may"
        f" be missing{until}"
    )

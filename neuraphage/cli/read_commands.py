"""Commands that only read one task: show, checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from neuraphage.api import Api
from neuraphage.cli.answer_lines import answer_command, permissions_of
from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.cache_lines import cache_break_lines, cache_lines
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import (
    dollars,
    harmless,
    hint,
    hints,
    local_time,
    out,
    print_json,
    print_wrapped,
)
from neuraphage.cli.full_text import show_conversation
from neuraphage.cli.hints import typed_here
from neuraphage.cli.json_lines import with_prompts
from neuraphage.cli.message_text import marked, message_lines
from neuraphage.cli.prompts import show_open_prompt
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.duration import duration
from neuraphage.decide.limits import turn_number, turns_used
from neuraphage.model.effect import JournalEntry, ModelEffect, ToolEffect
from neuraphage.model.money import label_texts
from neuraphage.model.recovery import LoggedDecision
from neuraphage.model.task import TERMINAL, CancelledDetail, CompletedDetail, FailedDetail, TaskRecord

LAST_MESSAGES = 4
LAST_DECISIONS = 5
LABEL_CHARS = 12


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: neuraphage show 1dd199f3d80d")(show)
    app.command(epilog="Example: neuraphage checkpoint 1dd199f3d80d --json")(checkpoint)


_EFFECT_NAMES = tuple(dict.fromkeys([*ModelEffect.model_fields, *ToolEffect.model_fields]))


def _plain(entry: JournalEntry) -> dict[str, Any]:
    """An effect with the names of every kind: what does not apply is null."""
    return dict.fromkeys(_EFFECT_NAMES) | entry.model_dump(mode="json")


def _what(entry: JournalEntry) -> str:
    return (isinstance(entry, ToolEffect) and entry.tool) or entry.kind.value


def show(
    task_id: TaskId,
    full: Annotated[bool, typer.Option("--full", help="With the whole conversation, nothing cut.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one task in full.

    Status and why it waits, marker, counters, journal, recoveries, last messages and open prompts.
    """
    with connect_to_read() as api:
        record = api.get(task_id)
        journal = api.journal(record.task_id)
        entries = last_messages(api, record.task_id, full=full)
        why = api.why(record.task_id)
        prompts = api.shown_prompts(record)
        broken = [] if as_json else cache_break_lines(api, record.task_id)
    if as_json:
        plain = with_prompts(record, prompts)
        plain["journal"] = {key: _plain(entry) for key, entry in journal.items()}
        plain["last_messages"] = entries
        plain["decisions"] = [decision.model_dump(mode="json") for decision in why.decisions]
        print_json(plain)
        return
    lines = [*describe(record), *time_lines(entries), *broken]
    lines += [("journal", f"{_what(e)} {e.state.value} ({key})") for key, e in journal.items()]
    lines += [("decision", _decision(decision)) for decision in why.decisions[-LAST_DECISIONS:]]
    lines += [("message", line) for entry in entries for line in message_lines(entry) if not full]
    if record.status not in TERMINAL and not record.prompts:  # open prompts say it better, below
        lines += [("why", sentence) for sentence in why.because]
        lines += [("next", typed_here(forecast.text)) for forecast in why.next]
    for name, value in lines:
        indent = " " * (LABEL_CHARS + 1)
        print_wrapped(harmless(f"{name:<{LABEL_CHARS}} {value}", indent=indent), indent)
    if full:
        show_conversation(entries)
    for shown in prompts:
        apart = None if out.is_terminal else Viewer(hints())
        show_open_prompt(Viewer(out), record, shown, whole=False, hints=apart)
    if len(permissions_of(record)) > 1:
        hint(f"{'  ' if out.is_terminal else ''}all alike: {answer_command(record, *permissions_of(record))}")


def last_messages(api: Api, task_id: str, *, full: bool) -> list[dict[str, Any]]:
    """The end of a conversation, or all of it, with `superseded`: whether the model is not shown a message any more."""
    found = api.conversation(task_id, first=0 if full else -LAST_MESSAGES)
    if not full and all(entry.get("supersedes") is None for entry in found):
        return [{**entry, "superseded": False} for entry in found]
    # its numbers are those of the whole conversation
    return marked(api.conversation(task_id))[0 if full else -LAST_MESSAGES :]


def _decision(decision: LoggedDecision) -> str:
    return f"{local_time(decision.at_ms)} {decision.reading.verdict}: {decision.reading.reason}"


def describe(record: TaskRecord) -> list[tuple[str, str]]:
    """Lines about one task, as label and text."""
    counters = record.counters
    lines = [
        ("task", record.task_id),
        ("name", " ".join(record.spec.name.split())),
        ("directory", record.spec.working_dir or "-"),
        ("status", record.status.value + (f", in {record.place}" if record.place else "")),
        ("marker", record.marker.name.value),
        ("model", _model(record)),
        ("turns", turns_text(record)),
        *_tree_turns(record),
        *_running(record),
        ("tokens", f"{counters.tokens_used}"),
        ("cost", f"{dollars(counters.cost_microusd)} of at most {dollars(record.limits.max_cost_microusd)}"),
        *cache_lines(counters),
        ("replies", f"{counters.model_calls} committed, {counters.model_resends} sent again"),
        ("recoveries", _recoveries(record)),
        ("saved", local_time(record.saved_at_ms)),
    ]
    lines += [("labels", ", ".join(label_texts(record.spec.labels)))] if record.spec.labels else []
    if record.reserved_microusd:
        lines.append(("reserved", f"{dollars(record.reserved_microusd)} of its pools, for the call under way"))
    match record.detail:
        case CompletedDetail():
            lines.append(("summary", record.detail.summary))
        case FailedDetail():
            lines.append(("error", typed_here(record.detail.error)))
        case CancelledDetail() if record.detail.reason:
            lines.append(("reason", record.detail.reason))
    return lines


def _model(record: TaskRecord) -> str:
    """The model that is called, the tier that it came from, and what is called in its place."""
    choice = record.choice
    tier = f", of the tier {choice.tier}" if choice.tier else ""
    return choice.model + tier + (f"; else {', '.join(choice.fallbacks)}" if choice.fallbacks else "")


def time_lines(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """How long the last reply took, where it is known."""
    known = [entry for entry in entries if entry["role"] == "assistant" and entry.get("total_ms")]
    if not known:
        return []
    first_s, total_s = known[-1]["first_token_ms"] / 1000, known[-1]["total_ms"] / 1000
    return [("reply", f"the last one began after {first_s:.1f} s and was whole after {total_s:.1f} s")]


def _recoveries(record: TaskRecord) -> str:
    """How many there were, and what calls may have cost that were lost in them."""
    lost = record.counters.recovery_cost_microusd
    return f"{record.counters.recoveries_total}" + (f", lost calls may have cost {dollars(lost)}" if lost else "")


def turns_text(record: TaskRecord) -> str:
    """How many turns are done, and how many the limit allows; it counts from a message that began new work."""
    done, most = record.counters.iteration, record.limits.max_turns
    if not record.turns_from:
        return f"{done} of at most {most}"
    return f"{done}, of which {turns_used(record)} of at most {most} since your message"


def _running(record: TaskRecord) -> list[tuple[str, str]]:
    """Time at work, where a limit bounds it."""
    most_ms = record.limits.max_running_ms
    return [] if most_ms is None else [("at work", f"{duration(record.counters.running_ms)} of {duration(most_ms)}")]


def _tree_turns(record: TaskRecord) -> list[tuple[str, str]]:
    """Turns of a tree, where a limit bounds them or there are subtasks."""
    most = record.limits.max_tree_turns
    if most is None and not record.children:
        return []
    return [("turns in all", f"{record.tree_turns}" + ("" if most is None else f" of at most {most}, with subtasks"))]


def checkpoint(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show what a task would go on from.

    Every step is committed as it happens, so there is nothing to force.
    """
    with connect_to_read() as api:
        record = api.get(task_id)
    if as_json:
        print_json(
            {
                "task_id": record.task_id,
                "status": record.status.value,
                "marker": record.marker.model_dump(mode="json", exclude_none=True),
                "saved_at_ms": record.saved_at_ms,
                "lease_until_ms": record.lease_until_ms,
                "iteration": record.counters.iteration,
                "turn": turn_number(record),
            }
        )
        return
    turn = f"turn {turn_number(record)}"
    saved = f"saved {local_time(record.saved_at_ms)}"
    print_wrapped(harmless(f"{record.task_id}: {record.marker.name.value}, {turn}, {saved}"), "  ")

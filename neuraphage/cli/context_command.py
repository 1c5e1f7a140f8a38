"""`neuraphage context`: what fills the context window of a task. It only reads."""

from __future__ import annotations

from dataclasses import asdict

import typer

from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import harmless, print_json, print_wrapped
from neuraphage.model.compaction import Shortening
from neuraphage.model.context_size import BigResult, ContextSize, PartKind, PastCompaction
from neuraphage.model.some import some

_NAMES = {
    PartKind.SYSTEM: "system text",
    PartKind.TOOLS: "tools",
    PartKind.INSTRUCTIONS: "what was asked for",
    PartKind.SUMMARY: "summary of the older part",
    PartKind.SAID: "what was said since",
    PartKind.TEXT: "the model's words",
    PartKind.THINKING: "its thoughts",
    PartKind.CALLS: "its calls of tools",
    PartKind.RESULTS: "results of tools",
    PartKind.MEDIA: "images and documents",
    PartKind.OTHER: "other blocks",
}
_WAYS = {
    Shortening.IMAGES: "old images left out",
    Shortening.RESULTS: "old results shortened",
    Shortening.THOUGHTS: "old results shortened, old thoughts left out",
    Shortening.SUMMARY: "{} entries summarized",
}
LAST_COMPACTIONS = 5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage context 1dd199f3d80d")(context)


def context(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show what fills the context window of a task.

    And what was left out to make it fit. Sizes of parts are estimates, which rather say too much. Changes nothing.
    """
    with connect_to_read() as api:
        size = api.context_size(task_id)
    if as_json:
        print_json({**asdict(size), "percent": round(size.percent, 1)})
        return
    for line in context_lines(size):
        print_wrapped(harmless(line, indent="    "), "    ")


def context_lines(size: ContextSize) -> list[str]:
    """Everything about it for people, a line each."""
    of_it = f"{size.counted_tokens:,} of them counted by the provider" if size.counted_tokens else "all estimated"
    lines = [
        f"about {size.tokens:,} of {size.window_tokens:,} tokens ({size.percent:.0f} %), {of_it};"
        f" above {size.limit_tokens:,} it is made shorter",
        f"{some(size.messages, 'message')} of {some(size.chars, 'character')}; {some(size.turns, 'turn')} done,"
        f" {size.tokens_used:,} tokens used",
    ]
    lines += [f"  {part.tokens:>9,}  {_NAMES[part.kind]} ({part.count:,})" for part in size.parts]
    if size.biggest:
        lines.append("largest results:")
        lines += [
            f"  {one.tokens:>9,}  {one.tool or 'unknown tool'} {one.tool_use_id}{_cut(one)}" for one in size.biggest
        ]
    made = size.compactions
    if made:
        lines.append(f"made shorter {len(made):,} times:" if len(made) > 1 else "made shorter once:")
        lines += [
            f"  in turn {one.turn + 1:,}: about {one.before_tokens:,} to {one.after_tokens:,} tokens"
            f" ({_WAYS[one.how].format(f'{one.summarized:,}')}{_by(one)})"
            for one in made[-LAST_COMPACTIONS:]
        ]
    return lines


def _by(one: PastCompaction) -> str:
    """Who made a summary, and why it was the task's own model."""
    by = f" by {one.summary_model}" if one.summary_model else ""
    return f"{by}: {one.why_own}" if one.why_own else by


def _cut(one: BigResult) -> str:
    return " (shortened)" if one.shortened else ""

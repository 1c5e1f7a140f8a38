"""`neuraphage why`: what the sweep and the watchers think of one task. It only reads."""

from __future__ import annotations

import typer

from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import harmless, local_time, out, print_json, print_wrapped, wrapped
from neuraphage.cli.decision_text import clocks_text, decision_text
from neuraphage.cli.hints import typed_here
from neuraphage.model.explanation import Explanation

INDENT = "  "
LAST_DECISIONS = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage why 1dd199f3d80d")(why)


def why(task_id: TaskId, as_json: AsJson = False) -> None:
    """Say why a task stands where it stands, and what happens next.

    With every decision of the sweep, the watchers and the recovery, and what each was made from. Changes nothing.
    """
    with connect_to_read() as api:
        found = api.why(task_id)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for heading, lines in explanation_lines(found):
        print_wrapped(harmless(heading, "bold"), INDENT)
        for line in lines:
            for shown in wrapped(harmless(typed_here(line), indent=INDENT * 2), _width(), INDENT):
                shown.pad_left(len(INDENT))
                out.print(shown)


def explanation_lines(found: Explanation) -> list[tuple[str, list[str]]]:
    """Headings, and the lines under each."""
    place = f", in {found.place}" if found.place else ""
    decisions = [
        f"{local_time(decision.at_ms)}  {decision_text(decision.reading)}"
        for decision in found.decisions[-LAST_DECISIONS:]
    ]
    older = len(found.decisions) - len(decisions)
    if older:
        decisions.insert(0, f"{older} older ones: --json shows them")
    return [
        (f"{found.task_id}: {found.status.value}{place}", list(found.because)),
        ("next", [forecast.text for forecast in found.next]),
        ("clocks", [clocks_text(found.clocks)]),
        ("decisions", decisions or ["none: neither sweep nor watcher had to do anything for it"]),
    ]


def _width() -> int | None:
    return out.width - len(INDENT) if out.is_terminal else None

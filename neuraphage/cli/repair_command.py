"""`repair`: puts indexes back from the records of the tasks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.completion import task_ids
from neuraphage.cli.connection import server_settings
from neuraphage.cli.console import harmless, out, print_json, print_wrapped
from neuraphage.client_wiring import stored_form
from neuraphage.model.repairing import RepairMode, RepairResult, RepairVerdict

BATCH = 1_000
"""Keys read at once."""
_DONE = {
    RepairVerdict.FOUND: "would be repaired",
    RepairVerdict.REPAIRED: "repaired",
    RepairVerdict.LEFT: "left as it is, no record tells what would be right",
    RepairVerdict.NEWER: "left alone, a newer release wrote it",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage repair --dry-run")(repair)


def repair(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASK]...", help="Only these, by any unique part of their ids; else all.", autocompletion=task_ids
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put lost or damaged indexes back from the records.

    Workers may run meanwhile. With task ids only those tasks are looked at, and the keys of the whole namespace.
    Exit status 0 when all is right in the end, 1 when something is left (or, with --dry-run, found).
    """
    mode = RepairMode.LOOK if dry_run else RepairMode.REPAIR
    told: list[RepairResult] = []
    looked_at: set[str] = set()
    for rows in stored_form(server_settings()).survey(mode, BATCH, tasks or ()):
        looked_at.update(row.name for row in rows)
        for row in rows:
            if row.findings:
                told.append(row)
                if not as_json:
                    _show(row)
    left = [row for row in told if row.verdict in (RepairVerdict.FOUND, RepairVerdict.LEFT)]
    if as_json:
        print_json(
            {"ok": not left, "dry_run": dry_run, "looked_at": len(looked_at), "found": [_plain(r) for r in told]}
        )
    else:
        out.print(f"{len(looked_at)} looked at; {len(told)} with something wrong, {len(left)} still so")
    raise typer.Exit(1 if left else 0)


def _plain(row: RepairResult) -> dict[str, Any]:
    return {"name": row.name, "verdict": row.verdict.value, "findings": list(row.findings)}


def _show(row: RepairResult) -> None:
    print_wrapped(harmless(f"{row.name}: {'; '.join(row.findings)} ({_DONE.get(row.verdict, row.verdict)})"), "  ")

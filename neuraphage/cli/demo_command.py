"""`demo`: the local stack, two kills, and the table of what they cost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from neuraphage.celery_app import find_workers
from neuraphage.cli.console import harmless, out
from neuraphage.cli.viewer import Viewer
from neuraphage.client_wiring import API_KEY_VARIABLE
from neuraphage.dev.demo import Demo, DemoOptions, Show
from neuraphage.dev.demo_record import DemoRecord
from neuraphage.errors import BadInput
from neuraphage.model.event import Event
from neuraphage.ports import Delta


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage demo")(demo)


class DemoShow(Show):
    """Writes the demo to the terminal."""

    def __init__(self) -> None:
        self._viewer = Viewer(out)

    def line(self, text: str) -> None:
        """Write a line about the stack or a kill."""
        self._viewer.line(text, "bold red" if text.startswith("kill") else "dim")

    def event(self, event: Event) -> None:
        """Write a line of the task's history."""
        self._viewer.event(event)

    def delta(self, delta: Delta) -> None:
        """Write a piece of the reply that streams."""
        self._viewer.delta(delta)


def demo(
    live: Annotated[bool, typer.Option("--live", help=f"Call the real model (needs {API_KEY_VARIABLE}).")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder of the demo.")] = False,
    project: Annotated[Path | None, typer.Option(help="Copy this broken project instead.")] = None,
    patience: Annotated[
        float | None, typer.Option(min=1, help="Give up when nothing happens for so many seconds (30; live: 180).")
    ] = None,
) -> None:
    """Repair a project while its workers are killed.

    A small broken project; kill -9 twice; then a table of what that cost.
    Needs no key, no Redis and no Docker. Exit status 0 only if nothing was paid or run twice.
    """
    if live and not os.environ.get(API_KEY_VARIABLE):
        raise BadInput(f"--live calls the real model: set {API_KEY_VARIABLE} to its key first")
    if project is not None and not project.is_dir():
        raise BadInput(f"--project {project}: there is no such directory")
    find_workers()  # before anything is started
    folder = Path(tempfile.mkdtemp(prefix="neuraphage-demo-"))
    try:
        record = Demo(DemoOptions(folder, project, live, patience_s=patience), DemoShow()).run()
    finally:
        if keep:
            out.print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    out.print(cost_table(record))
    out.print("It holds." if record.holds else "It does not hold:")
    for failure in record.failures:
        out.print(harmless(f"  {failure}", "red", indent="    "))
    raise typer.Exit(0 if record.holds else 1)


def cost_table(record: DemoRecord) -> Table:
    """What the kills cost; what does not hold is marked."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("what the kills cost")
    table.add_column("value", justify="right")
    table.add_column("promised", justify="right")
    table.add_column("")
    for finding in record.findings:
        mark = "" if finding.holds else "NO"
        table.add_row(finding.what, finding.value, finding.promise, mark, style="" if finding.holds else "red")
    return table

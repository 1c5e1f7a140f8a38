"""`demo` and `dev`: the local stack."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from neuraphage.cli.console import dollars, out
from neuraphage.cli.follow import Viewer
from neuraphage.dev import stack_file
from neuraphage.dev.demo import Demo, DemoOptions, Show, free_port
from neuraphage.dev.demo_record import DemoRecord
from neuraphage.dev.process_spec import ProcessChange
from neuraphage.dev.resolve import resolve_server
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.supervisor import Supervisor
from neuraphage.errors import BadInput
from neuraphage.settings import Settings
from neuraphage.wiring import API_KEY_VARIABLE


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(demo)
    app.command()(dev)


class _DemoShow(Show):
    """Writes the demo to the terminal."""

    def __init__(self) -> None:
        viewer = Viewer(out)
        self.line = lambda text: viewer.line(text, "bold red" if text.startswith("kill") else "dim")  # type: ignore[method-assign]  # one viewer, three entry points
        self.event = viewer.event  # type: ignore[method-assign]  # as above
        self.delta = viewer.delta  # type: ignore[method-assign]  # as above


def demo(
    live: Annotated[bool, typer.Option("--live", help=f"Call the real model (needs {API_KEY_VARIABLE}).")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder of the demo.")] = False,
    project: Annotated[Path | None, typer.Option(help="Another broken project to copy.", exists=True)] = None,
) -> None:
    """Repair a small broken project while its workers are killed with -9, and show what that cost.

    Needs no key, no Redis and no Docker. Exit status 0 only if nothing was paid or run twice.
    """
    if live and not os.environ.get(API_KEY_VARIABLE):
        raise BadInput(f"--live calls the real model: set {API_KEY_VARIABLE} to its key first")
    folder = Path(tempfile.mkdtemp(prefix="neuraphage-demo-"))
    folder.chmod(0o700)
    try:
        record = Demo(DemoOptions(folder, project, live), _DemoShow()).run()
    finally:
        if keep:
            out.print(f"kept {folder}", markup=False)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    out.print(cost_table(record))
    for failure in record.failures:
        out.print(f"does not hold: {failure}", markup=False)
    raise typer.Exit(0 if record.holds else 1)


def cost_table(record: DemoRecord) -> Table:
    """What the kills cost."""
    table = Table(title="What the kills cost", title_justify="left")
    table.add_column("measured from the durable record")
    table.add_column("value", justify="right")
    for kill in record.kills:
        after = "never" if kill.resumed_s is None else f"{kill.resumed_s:.2f} s"
        table.add_row(f"kill -9 while {kill.while_what}: work went on after", after)
    table.add_row("committed replies", str(record.replies))
    table.add_row("committed replies paid twice", str(record.calls_paid_twice))
    table.add_row("calls sent again, their first reply cut off", str(record.calls_resent))
    table.add_row("test runs with a result", str(record.commands))
    table.add_row("commands started again", str(record.commands_run_twice))
    table.add_row("cost", dollars(record.cost_microusd))
    table.add_row("task", record.status.value)
    table.add_row("the project's own tests", "pass" if record.tests_pass else "fail")
    return table


def dev(
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1, max=64)] = 1,
    concurrency: Annotated[int, typer.Option(help="Turns at a time in each.", min=1, max=256)] = 8,
    script: Annotated[
        str | None, typer.Option(help="Play this script (module:attribute) instead of calling the real model.")
    ] = None,
) -> None:
    """Keep a local stack up until Ctrl-C: server, workers, control worker and beat. Data is kept between runs."""
    settings = Settings()
    if script is None and not os.environ.get(API_KEY_VARIABLE):
        raise BadInput(f"set {API_KEY_VARIABLE} to the key of the model, or play a script with --script")
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    server = resolve_server(os.environ, settings.data_dir)
    own = server if isinstance(server, EmbeddedServer) else None
    address = own.prepare() if own is not None else server
    try:
        plan = StackPlan(
            settings.data_dir,
            address,  # type: ignore[arg-type]  # resolve_server gives one or the other
            namespace=settings.namespace,
            environ=dict(os.environ),
            workers=workers,
            concurrency=concurrency,
            scripted_port=free_port() if script else None,
            scripted_arguments=("--script", f"main={script}", "--default", "main") if script else (),
        )
        make_folders(plan)
        with Supervisor(stack_specs(plan, own), plan.log_dir, on_change=_tell):
            stack_file.write(
                settings.data_dir, plan.address, plan.namespace, "scripted-1" if script else settings.default_model
            )
            out.print(f"ready; data and logs in {settings.data_dir}; Ctrl-C stops", markup=False)
            _wait_for_signal()
            out.print("stopping", markup=False)
    finally:
        stack_file.remove(settings.data_dir)
        if own is not None:
            own.release()


def _tell(change: ProcessChange) -> None:
    out.print(change.line, markup=False)


def _wait_for_signal() -> None:
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    asked.wait()

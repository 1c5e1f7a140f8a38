"""`dev`: a local stack that stays up until Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from neuraphage.celery_app import find_workers
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import harmless, out
from neuraphage.configuration import server_variables
from neuraphage.dev import stack_file
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.local_model import free_port, scripted_environ
from neuraphage.dev.process_spec import ProcessChange
from neuraphage.dev.resolve import resolve_server
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.stack_use import UnusedStop
from neuraphage.dev.supervisor import GRACE_S, Supervisor
from neuraphage.errors import BadInput
from neuraphage.settings import Settings
from neuraphage.wiring import API_KEY_VARIABLE

SCRIPTED_MODEL = "scripted-1"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage dev --workers 2")(dev)


def dev(
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1, max=64)] = 1,
    concurrency: Annotated[int, typer.Option(help="Turns at a time in each.", min=1, max=256)] = 8,
    script: Annotated[
        str | None, typer.Option(help="Play this script (module:attribute) instead of calling the real model.")
    ] = None,
    while_used: Annotated[bool, typer.Option("--while-used", hidden=True)] = False,
) -> None:
    """Keep a local stack up until Ctrl-C.

    Server, workers, control worker and beat; what ends is started again. Data is kept between runs.
    """
    settings = load_settings()
    if script is None and not os.environ.get(API_KEY_VARIABLE):
        raise BadInput(f"set {API_KEY_VARIABLE} to the key of the model, or play a script with --script")
    if script is not None and not all(script.partition(":")):
        raise BadInput(f"--script {script}: write module:attribute")
    find_workers()  # before anything is started
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with _server(settings) as (address, own):
        stack_file.remove(settings.data_dir)  # one left by a killed stack would say that this one is up already
        plan = StackPlan(
            settings.data_dir,
            address,
            namespace=settings.namespace,
            environ=scripted_environ(os.environ) if script else dict(os.environ),
            workers=workers,
            concurrency=concurrency,
            scripted_port=free_port() if script else None,
            scripted_arguments=("--script", f"main={script}", "--default", "main") if script else (),
        )
        make_folders(plan)
        grace_s = GRACE_S
        if while_used:  # started by `run`: ends when the last one that uses it has left, after the step in hand
            UnusedStop(settings.data_dir, stop).start()
            grace_s = settings.effect_max_s
        _run(plan, own, settings, stop, script, grace_s)
    out.print("stopped; the data is kept")


@contextmanager
def _server(settings: Settings) -> Iterator[tuple[ServerAddress, EmbeddedServer | None]]:
    """The server of this data folder, which nobody else may use meanwhile."""
    server = resolve_server(os.environ | server_variables(settings), settings.data_dir)
    if isinstance(server, EmbeddedServer):
        address = server.prepare()
        try:
            yield address, server
        finally:
            server.release()
        return
    with take_lock(open_files(settings.data_dir)):
        yield server, None


def _run(
    plan: StackPlan,
    own: EmbeddedServer | None,
    settings: Settings,
    stop: threading.Event,
    script: str | None,
    grace_s: float,
) -> None:
    """Keep the stack up until asked to stop.

    A request to stop while it starts waits until it has started: a half started stack is stopped as cleanly.
    """
    model = settings.default_model if plan.scripted_port is None else SCRIPTED_MODEL
    with Supervisor(stack_specs(plan, own), plan.log_dir, on_change=_tell, grace_s=grace_s):
        stack_file.write(plan.data_dir, plan.address, plan.namespace, model, script)
        try:
            out.print(f"ready; data and logs in {plan.data_dir}; Ctrl-C stops")
            stop.wait()
            out.print("stopping")
        finally:
            stack_file.remove(plan.data_dir)


def _tell(change: ProcessChange) -> None:
    out.print(harmless(change.line, "dim", indent="  "))

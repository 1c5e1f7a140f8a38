"""`dev`: a local stack that stays up until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from neuraphage import own_secrets, stack_note
from neuraphage.celery_app import find_workers
from neuraphage.cli.arguments import BaseUrl, Hooks, Prices, Tools
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain
from neuraphage.cli.exit_codes import INTERRUPTED_EXIT
from neuraphage.cli.stack_view import StackView
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.flower import prepare_flower
from neuraphage.dev.idle_relay import idle_relay_ended
from neuraphage.dev.local_model import free_port, scripted_environ
from neuraphage.dev.log_rotation import LogRotation
from neuraphage.dev.other_server import find_workers_of
from neuraphage.dev.resolve import resolve_server
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.stack_use import UnusedStop
from neuraphage.dev.stop_request import StopRequest, listen
from neuraphage.dev.supervisor import Supervisor
from neuraphage.errors import BadInput
from neuraphage.model_access import model_access
from neuraphage.setting_sources import variable
from neuraphage.settings import Settings

SCRIPTED_MODEL = "scripted-1"
STEP_MARGIN_S = 10.0
"""Beyond the longest step: a worker's own time to leave."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage dev --workers 2 --flower")(dev)


def dev(
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1, max=64)] = 1,
    concurrency: Annotated[int, typer.Option(help="Turns at a time in each.", min=1, max=256)] = 8,
    flower: Annotated[bool, typer.Option("--flower", help="Run Flower too, on this machine, with a login.")] = False,
    script: Annotated[
        str | None, typer.Option(help="Play this script (module:attribute) instead of calling the real model.")
    ] = None,
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    hooks: Hooks = None,  # noqa: ARG001 - noted as a setting
    base_url: BaseUrl = None,  # noqa: ARG001 - noted as a setting
    price: Prices = None,  # noqa: ARG001 - noted as a setting
    while_used: Annotated[bool, typer.Option("--while-used", hidden=True)] = False,
) -> int:
    """Keep a local stack up until Ctrl-C.

    Server, workers, control worker and beat; what ends is started again. Data is kept between runs. The first Ctrl-C
    lets the step in hand end, the second does not.
    """
    settings = load_settings()
    _check(settings, script)
    open_files(settings.data_dir)  # makes the folder, or says what is wrong with the one that is there
    stop = StopRequest()
    listen(stop)
    with _server(settings, script) as (address, own):
        stack_note.remove(settings.data_dir)  # one left by a killed stack would say that this one is up already
        plan = StackPlan(
            settings.data_dir,
            address,
            namespace=settings.namespace,
            environ=_environ(settings, script),
            workers=workers,
            concurrency=concurrency,
            scripted_port=free_port() if script else None,
            scripted_arguments=_played(script) if script else (),
            flower=prepare_flower(settings.data_dir) if flower else None,
            step_s=settings.effect_max_s + STEP_MARGIN_S,
        )
        own_secrets.hide()  # the plan has what the processes are to inherit
        make_folders(plan)
        if while_used:  # started by `run`: ends when the last one that uses it has left
            UnusedStop(settings.data_dir, stop).start()
        model = SCRIPTED_MODEL if script else settings.default_model
        with LogRotation(lambda: _logs(plan, own), settings.log_max_bytes, settings.log_files):
            note = partial(
                stack_note.write,
                plan.data_dir,
                address,
                plan.namespace,
                model,
                script=script,
                tools=settings.tools,
                base_url=settings.openai_base_url,
                prices=settings.prices,
                hooks=settings.hooks,
            )
            return _run(plan, own, stop, note)


def _environ(settings: Settings, script: str | None) -> dict[str, str]:
    """What the processes inherit: tools, hooks, a server and prices may be named by options of this call alone."""
    environ = scripted_environ(os.environ) if script else dict(os.environ)
    told = {variable("tools"): ",".join(settings.tools)} if settings.tools else {}
    if settings.openai_base_url:
        told[variable("openai_base_url")] = settings.openai_base_url
    if settings.hooks:
        told[variable("hooks")] = ",".join(settings.hooks)
    if settings.prices:
        told[variable("prices")] = "\n".join(settings.prices)
    return environ | told


def _logs(plan: StackPlan, own: EmbeddedServer | None) -> list[Path]:
    return [*plan.log_dir.glob("*.log"), *([] if own is None else [own.files.log])]


def _played(script: str) -> tuple[str, ...]:
    """Arguments of the scripted model. The script may lie in the current folder, which is looked into last."""
    return ("--script", f"main={script}", "--default", "main", "--script-dir", str(Path.cwd()))


def _check(settings: Settings, script: str | None) -> None:
    if script is None and (problem := model_access(settings).problem) is not None:
        raise BadInput(f"{problem}; or play a script with --script")
    if script is not None and not all(script.partition(":")):
        raise BadInput(f"--script {script}: write module:attribute")
    find_workers()  # before anything is started


@contextmanager
def _server(settings: Settings, script: str | None) -> Iterator[tuple[ServerAddress, EmbeddedServer | None]]:
    """The server of this data folder, which nobody else may use meanwhile."""
    server = resolve_server(settings, os.environ)
    if isinstance(server, EmbeddedServer):
        address = server.prepare()
        try:
            yield address, server
        finally:
            server.release()
        return
    with take_lock(open_files(settings.data_dir)):
        _look_at(server, settings, script)
        yield server, None


def _look_at(server: ServerAddress, settings: Settings, script: str | None) -> None:
    """Refuse a server that does not answer, and a script where others would get its replies; name who shares it."""
    urls = {"state_url": SecretStr(server.state_url), "broker_url": SecretStr(server.broker_url)}
    others = find_workers_of(settings.model_copy(update=urls))
    if not others:
        return
    shared = f"namespace {settings.namespace!r} of this server is in use by {', '.join(others)}"
    another = "give this project a namespace of its own (NEURAPHAGE_NAMESPACE, or namespace in ./neuraphage.toml)"
    if script is not None:
        raise BadInput(f"{shared}: their tasks would be played by the script; {another}")
    complain(f"{shared}, which share their tasks with this stack; if that is not meant, {another}")


def _run(plan: StackPlan, own: EmbeddedServer | None, stop: StopRequest, note: Callable[[], Path]) -> int:
    """Keep the stack up until asked to stop.

    Args:
        plan: the stack.
        own: its prepared server; None for one that someone else runs.
        stop: asked once, it ends after the step in hand; twice, at once.
        note: writes down where the stack is, once it is up.

    Returns:
        Exit code.
    """
    specs = stack_specs(plan, own)
    view = StackView(specs, stop)
    view.say(f"starting a stack in {plan.data_dir}")
    ending = idle_relay_ended(plan.data_dir, plan.namespace)
    with ending, Supervisor(specs, plan.log_dir, on_change=view.change, stop=stop):
        try:
            if not stop.asked:
                note()
                view.up(f"ready; data and logs in {plan.data_dir}; Ctrl-C stops")
                stop.wait()
            view.stopping("stopping after the step in hand; Ctrl-C again stops at once")
        finally:
            stack_note.remove(plan.data_dir)
    if stop.at_once:
        view.stopping("stopped at once; the data is kept, and the next start goes on with what was in hand")
        return INTERRUPTED_EXIT
    view.say("stopped; the data is kept")
    return view.exit_code

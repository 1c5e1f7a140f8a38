"""`health`: whether the worker processes of this host work."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain, harmless, print_json, print_wrapped
from neuraphage.cli.hints import command_line
from neuraphage.data_folder import recent_quota_warnings
from neuraphage.decide.health import overall
from neuraphage.errors import BadInput
from neuraphage.host_health import host_health


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage health --ready")(health)


def health(
    live: Annotated[bool, typer.Option("--live", help="Whether the worker processes answer.")] = False,
    ready: Annotated[bool, typer.Option("--ready", help="Whether they can also claim turns.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether the workers of this host work, by exit 0 or 1.

    For container health checks: it asks no server, and measures the data folder once in ten minutes at most.
    Without an option: --ready.
    """
    if live and ready:
        raise BadInput("give only one of --live and --ready")
    settings = load_settings()
    processes, warnings = host_health(settings), recent_quota_warnings(settings)
    is_live, is_ready = overall(processes)
    if as_json:
        shown = [asdict(process) for process in processes]
        print_json({"live": is_live, "ready": is_ready, "processes": shown, "warnings": warnings})
    else:
        if not processes:
            start = f"start a local stack with `{command_line('dev')}`, or a worker with Celery (README.md)"
            complain(f"no worker process of this data folder and namespace runs on this host; {start}")
        for process in processes:
            word = "ready" if process.ready else "live" if process.live else "not live"
            line = "; ".join([f"{process.name} (pid {process.pid}): {word}", *process.problems])
            print_wrapped(harmless(line, indent="  "), "  ")
        for warning in warnings:
            complain(f"warning: {warning}")
    raise typer.Exit(0 if (is_live if live else is_ready) else 1)

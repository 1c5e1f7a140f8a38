"""Commands for operators: recovery, checkpoint, health."""

from __future__ import annotations

from typing import Annotated

import typer

from neuraphage import __version__
from neuraphage.cli.console import harmless, local_time, out, print_json
from neuraphage.cli.task_commands import AsJson, TaskId, connect
from neuraphage.errors import BadInput
from neuraphage.model.recovery import RecoveryReading, RecoveryReport
from neuraphage.model.task import FailedDetail, Status


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(recover)
    app.command()(checkpoint)
    app.command()(version)


def recover(
    resume: Annotated[str | None, typer.Option(help="Go on with this paused or failed task.")] = None,
    reset: Annotated[
        str | None, typer.Option(help="Start this failed task anew; its conversation is archived.")
    ] = None,
    all_reset: Annotated[bool, typer.Option("--all-reset", help="Start all recoverable failed tasks anew.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the newest recovery report, or put tasks back to work."""
    if sum(map(bool, (resume, reset, all_reset))) > 1:
        raise BadInput("give only one of --resume, --reset and --all-reset")
    with connect() as client:
        if resume is not None:
            record = client.get(resume)
            verb = "retry" if record.status is Status.FAILED else "resume"
            out.print(f"{'would ' if dry_run else ''}{verb} {record.task_id}", markup=False)
            if not dry_run:
                (client.retry if verb == "retry" else client.resume)(record.task_id)
        elif reset is not None or all_reset:
            failed = [client.get(reset)] if reset is not None else client.list(Status.FAILED, limit=10_000)
            for record in failed:
                recoverable = isinstance(record.detail, FailedDetail) and record.detail.recoverable
                if all_reset and not recoverable:
                    continue
                out.print(f"{'would reset' if dry_run else 'reset'} {record.task_id}", markup=False)
                if not dry_run:
                    client.reset(record.task_id)
        else:
            _show_report(client.recovery_report(), as_json=as_json)


def _show_report(report: RecoveryReport | None, *, as_json: bool) -> None:
    if as_json:
        print_json(None if report is None else report.model_dump(mode="json"))
        return
    if report is None:
        out.print("no sweep has found an orphan yet")
        return
    out.print(f"sweep of {local_time(report.swept_at_ms)}, {report.duration_ms} ms", markup=False)
    groups: dict[str, tuple[RecoveryReading, ...]] = {
        "resumable": report.resumable,
        "requeued": report.requeued,
        "failed": report.failed,
        "paused": report.paused,
        "suspect": report.suspect,
    }
    for name, readings in groups.items():
        for reading in readings:
            out.print(
                harmless(
                    f"{name:<10} {reading.task_id} at {reading.marker}, turn {reading.iteration}: {reading.reason}"
                )
            )


def checkpoint(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show what a task would go on from: every step is committed as it happens, so there is nothing to force."""
    with connect() as client:
        record = client.get(task_id)
    if as_json:
        print_json(
            {
                "task_id": record.task_id,
                "marker": record.marker.model_dump(mode="json", exclude_none=True),
                "saved_at_ms": record.saved_at_ms,
                "lease_until_ms": record.lease_until_ms,
                "iteration": record.counters.iteration,
            }
        )
        return
    out.print(
        f"{record.task_id}: {record.marker.name.value}, turn {record.counters.iteration}, "
        f"saved {local_time(record.saved_at_ms)}",
        markup=False,
    )


def version(as_json: AsJson = False) -> None:
    """Show the version."""
    if as_json:
        print_json({"version": __version__})
        return
    out.print(f"neuraphage {__version__}")

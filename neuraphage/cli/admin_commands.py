"""`recover`: what the last recovery did, and tasks put back to work by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from neuraphage.api import Api
from neuraphage.api.recovering import PutBack
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.completion import task_ids
from neuraphage.cli.connection import connect
from neuraphage.cli.console import harmless, hint, local_time, out, print_json, print_wrapped, short_id
from neuraphage.cli.decision_text import decision_text
from neuraphage.cli.hints import command_line
from neuraphage.decide.going_on import anew, going_on
from neuraphage.decide.going_on import reset as resetting
from neuraphage.decide.limits import limit_reached
from neuraphage.errors import BadInput, IllegalMove
from neuraphage.model.effect import MODEL_ENTRY, EffectState
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.model.task import FailedDetail, Status, TaskRecord

MAX_RESETS = 10_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage recover --resume 1dd199f3d80d --dry-run")(recover)


def recover(
    resume: Annotated[
        str | None, typer.Option(help="Go on with this paused or failed task.", autocompletion=task_ids)
    ] = None,
    reset: Annotated[
        str | None,
        typer.Option(help="Start this failed task anew; its conversation is archived.", autocompletion=task_ids),
    ] = None,
    all_reset: Annotated[bool, typer.Option("--all-reset", help="Start all recoverable failed tasks anew.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the last recovery, or put tasks back to work."""
    if sum((resume is not None, reset is not None, all_reset)) > 1:
        raise BadInput("give only one of --resume, --reset and --all-reset")
    with connect() as api:
        if resume is None and reset is None and not all_reset:
            _show_report(api.recovery_report(), as_json=as_json)
            return
        done = []
        for record, verb in _chosen(api, resume, reset):
            refusal = _refusal(api, record, verb, by_name=not all_reset)
            if refusal is not None and all_reset:
                continue
            if refusal is not None and dry_run:
                raise IllegalMove(refusal)
            if not dry_run:
                api.put_back(record, verb)  # by name it says itself why not
            done.append({"task_id": record.task_id, "action": verb, "dry_run": dry_run})
            if not as_json:
                out.print(f"{'would ' if dry_run else ''}{verb} {record.task_id}")
    if as_json:
        print_json(done)
    elif not done:
        out.print("no failed task can be reset: either none has failed, or a repeat cannot help those that have")


def _chosen(api: Api, resume: str | None, reset: str | None) -> Iterator[tuple[TaskRecord, PutBack]]:
    if resume is not None:
        record = api.get(resume)
        yield record, "retry" if record.status is Status.FAILED else "resume"
    elif reset is not None:
        yield api.get(reset), "reset"
    else:
        for record in api.list(Status.FAILED, limit=MAX_RESETS):
            yield record, "reset"


def _refusal(api: Api, record: TaskRecord, verb: str, *, by_name: bool) -> str | None:
    """Why the store would refuse, and what goes on instead; None when it would do it."""
    reply = api.journal(record.task_id).get(MODEL_ENTRY)
    has_reply = reply is not None and reply.state is EffectState.COMPLETED
    has_conversation = bool(api.conversation(record.task_id, first=-1))
    if _may(record, verb, has_reply=has_reply, by_name=by_name) and (verb == "resume" or has_conversation):
        return None
    is_at_limit = verb == "reset" and record.status is Status.FAILED and has_conversation
    step = resetting(record) if is_at_limit else going_on(record, has_conversation=has_conversation)
    return f"{record.task_id} is {record.status}: {verb} is not possible now; {step}"


def _may(record: TaskRecord, verb: str, *, has_reply: bool, by_name: bool) -> bool:
    """Whether the store will do it by what the record says.

    Of all failures at once, only those are reset that a repeat can help. At a limit nothing begins that would fail at
    once; a reply that is there can still be worked off, and an open question still be asked.
    """
    if verb == "resume":
        may_wait = has_reply or bool(record.prompts)
        return record.status is Status.PAUSED and (may_wait or limit_reached(record) is None)
    if not isinstance(record.detail, FailedDetail) or not (record.detail.recoverable or (verb == "reset" and by_name)):
        return False
    return limit_reached(anew(record)) is None if verb == "reset" else has_reply or limit_reached(record) is None


def _show_report(report: RecoveryReport | None, *, as_json: bool) -> None:
    if as_json:
        print_json(None if report is None else report.model_dump(mode="json") | {"is_empty": report.is_empty})
        return
    if report is None:
        out.print("nothing has been recovered yet")
        return
    out.print(f"recoveries until {local_time(report.swept_at_ms)}, the newest first")
    groups: dict[str, tuple[RecoveryDecision, ...]] = {
        "resumable": report.resumable,
        "requeued": report.requeued,
        "failed": report.failed,
        "paused": report.paused,
        "suspect": report.suspect,
        "other": report.other,
    }
    for name, decisions in groups.items():
        for decision in decisions:
            at = f"{local_time(decision.at_ms)}  " if decision.at_ms is not None else ""
            line = f"{name:<10} {at}{short_id(decision.task_id)}  {decision_text(decision)}"
            print_wrapped(harmless(line, indent="  "), "  ")
    if report.failed or report.paused:
        hint(f"go on with: {command_line('recover', '--resume', 'ID')}")
        hint(f"what became of each: {command_line('why', 'ID')}")

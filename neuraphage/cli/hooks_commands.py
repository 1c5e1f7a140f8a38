"""`hooks`: the hooks of a worker of these settings, what one says, and what observers failed on."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from neuraphage.cli.arguments import AsJson, Hooks
from neuraphage.cli.connection import connect, load_settings
from neuraphage.cli.console import complain, harmless, one_line, out, plain_table, print_json, print_table
from neuraphage.errors import BadInput
from neuraphage.model.hook import HookKind, HookPoint
from neuraphage.model.hook_payload import GIVEN, Observed, Payload
from neuraphage.tool_wiring import installed_hooks, tried_hook

_SAMPLE: dict[str, Any] = {
    "task_id": "task-00000000-0000-7000-8000-000000000000",
    "task_name": "A test",
    "working_dir": ".",
    "model": "a-model",
    "entries": 1,
    "messages": [],
    "message_count": 1,
    "tokens": 100,
    "sha256": "",
    "system": "",
    "request_id": "req-test",
    "max_tokens": 1_000,
    "cost_microusd": 0,
    "text": "A text.",
    "calls": [],
    "stop_reason": "end_turn",
    "input_tokens": 100,
    "output_tokens": 10,
    "tool": "a_tool",
    "tool_use_id": "toolu_test",
    "params": {},
    "effect": "opaque",
    "is_error": False,
    "then": "next turn",
    "finished": 1,
    "event": "TaskCompleted",
    "event_id": "0-1",
    "data": {},
}
"""A payload of every point; what a person gives as --payload goes over it."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    hooks = typer.Typer(
        help="Show and try hooks, and what observers failed on.",
        epilog="Example: neuraphage hooks list",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    hooks.command("list", epilog="Example: neuraphage hooks list --hook policy:no_push")(list_hooks)
    hooks.command("test", epilog="Example: neuraphage hooks test PreToolUse --hook policy:no_push")(try_hooks)
    hooks.command("failed", epilog="Example: neuraphage hooks failed")(failed)
    hooks.command("retry", epilog="Example: neuraphage hooks retry announce")(retry)
    app.add_typer(hooks, name="hooks")


def list_hooks(hooks: Hooks = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - noted as a setting
    """List hooks in the order in which they are asked, and the points; exit 1 when one cannot be loaded."""
    loaded = installed_hooks(load_settings())
    if as_json:
        rows = [
            {"name": one.name, "kind": one.kind.value, "points": list(one.points), "timeout_s": one.timeout_s,
             "from": one.origin}
            for one in loaded.hooks
        ]  # fmt: skip
        points = [{"name": point.value, "kind": point.kind.value} for point in HookPoint]
        print_json({"hooks": rows, "problems": list(loaded.problems), "points": points})
    else:
        table = plain_table("hook", "kind", "points", "time", "from")
        for one in loaded.hooks:
            texts = (one.name, one.kind.value, ", ".join(one.points), f"{one.timeout_s:g} s", one.origin)
            table.add_row(*map(one_line, texts))
        print_table(table)
        for kind in HookKind:
            names = ", ".join(point.value for point in HookPoint if point.kind is kind)
            out.print(harmless(f"points of {kind.value}s: {names}"))
    for problem in loaded.problems:
        complain(f"not loaded: {problem}")
    raise typer.Exit(1 if loaded.problems else 0)


def try_hooks(
    point: Annotated[str, typer.Argument(help="A point, as PreToolUse, or a kind of event.")],
    payload: Annotated[str | None, typer.Option(help="Parts of what hooks are given, as JSON.")] = None,
    hooks: Hooks = None,  # noqa: ARG001 - noted as a setting
    as_json: AsJson = False,
) -> None:
    """Call the hooks of a point, each for itself, and show what they say; exit 1 when one blocks or fails.

    They are really called: an observer that posts somewhere does so.
    """
    given = _payload(point, payload)
    loaded = installed_hooks(load_settings())
    rows = []
    for one in loaded.hooks:
        if point not in one.points:
            continue
        said = tried_hook(one, given)
        told = {"error": said} if isinstance(said, str) else said.model_dump(mode="json", exclude_defaults=True)
        rows.append(
            {
                "name": one.name,
                "verdict": "told",
                **({"verdict": "allow", **told} if not isinstance(said, str) else told),
            }
        )
    if as_json:
        print_json({"point": point, "said": rows, "problems": list(loaded.problems)})
    else:
        for row in rows:
            said = json.dumps({key: value for key, value in row.items() if key != "name" and value}, ensure_ascii=False)
            out.print(harmless(f"{row['name']}: {said}"))
        if not rows:
            out.print(f"no hook is asked at {point}")
    for problem in loaded.problems:
        complain(f"not loaded: {problem}")
    bad = any(row["verdict"] == "block" or row.get("error") for row in rows)
    raise typer.Exit(1 if bad or loaded.problems else 0)


def failed(as_json: AsJson = False) -> None:
    """List events that observers failed on."""
    with connect() as api:
        rows = api.failed_hooks()
    if as_json:
        print_json({"failed": [row.model_dump(mode="json") for row in rows]})
        return
    table = plain_table("observer@event", "kind", "task", "tries", "next", "error")
    for row in rows:
        following = "none: retry it" if row.due_ms is None else "soon"
        texts = (row.name, row.kind or "gap", row.task_id, str(row.attempts), following, row.error)
        table.add_row(*map(one_line, texts))
    print_table(table)


def retry(
    name: Annotated[
        str | None, typer.Argument(help="An observer, or OBSERVER@EVENT; all whose tries are used up if not given.")
    ] = None,
) -> None:
    """Have observers tried again on events that they failed on."""
    with connect() as api:
        number = api.retry_hooks(name)
    out.print(f"{number} to be told again" if number else "nothing is to be told again")


def _payload(point: str, given: str | None) -> Payload:
    known = {one.value for one in HookPoint}
    try:
        more = {} if given is None else json.loads(given)
    except ValueError as error:
        raise BadInput(f"--payload: this is no JSON: {error}") from None
    if not isinstance(more, dict):
        raise BadInput('--payload: an object is wanted, such as \'{"tool": "run_command"}\'')
    if point not in known:
        near = difflib.get_close_matches(point, known, n=1)
        raise BadInput(f"there is no point {point!r}{f'; did you mean {near[0]}?' if near else ''}")
    shape = GIVEN.get(HookPoint(point), Observed)
    whole = {**{name: value for name, value in _SAMPLE.items() if name in shape.model_fields}, **more}
    if shape is Observed and "event" not in more:
        whole["event"] = point
    try:
        return shape.model_validate(whole)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BadInput(f"--payload: {wrong}") from None

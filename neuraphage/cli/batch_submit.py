"""`submit --from`: many tasks of a file, one a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from neuraphage.cli.allowing import allowed_by
from neuraphage.cli.arguments import existing_dir, labels_of
from neuraphage.cli.connection import connect
from neuraphage.cli.console import complain, out, print_json
from neuraphage.cli.text_input import text_of
from neuraphage.errors import BadInput

FOR_ALL = ("directory", "allow", "auto_allow_sandboxed", "model", "max_turns", "max_cost", "max_tree_turns", "mode",
           "tag", "label", "priority", "system", "force")  # fmt: skip
"""Options that hold for all rows that do not say otherwise."""
FOR_THE_BATCH = ("from_file", "key", "as_json")
MOST_BYTES = 64 * 1024 * 1024
"""Of a file: 10,000 tasks with prompts of some pages. A longer one is to be split."""
PROGRESS_ROWS = 500
"""Rows between two lines of progress."""


def submit_batch(ctx: typer.Context, file: Path) -> None:
    """Submit the tasks of a file, and tell what came of them.

    Raises:
        BadInput: a line or an option is of no use; nothing was made.
        Exit: with 1 where rows were refused.
    """
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if others := sorted(given - {*FOR_ALL, *FOR_THE_BATCH}):
        raise BadInput(f"--from takes no {' and no '.join(others)}: each line of the file says what is its own")
    rows, batch = _rows(file), ctx.params["key"] or str(file.resolve())
    with connect() as api:
        report = api.map(rows, batch=batch, progress=_progress, **_fields(ctx.params, given))
    for row in report.refused:
        complain(f"row {row.key}: {row.error}")
    if ctx.params["as_json"]:
        print_json(report.model_dump(mode="json"))
    else:
        out.print(f"{report.created} made, {report.found} were there, {len(report.refused)} refused")
    if report.refused:
        raise typer.Exit(1)


def _rows(file: Path) -> list[dict[str, Any]]:
    text = text_of("the batch", file, MOST_BYTES)
    return [_row(line, number) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _row(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadInput(f"--from, line {number}: it is no JSON ({error})") from None
    if not isinstance(row, dict):
        raise BadInput(f'--from, line {number}: it is no object; write {{"prompt": "what to do"}}')
    return {"key": str(number), **row}


def _progress(done: int, every: int) -> None:
    if done % PROGRESS_ROWS == 0:
        complain(f"{done} of {every}")


def _fields(params: dict[str, Any], given: set[str]) -> dict[str, Any]:
    """Keywords of `Client.submit` for all rows."""
    values = {
        "working_dir": None if params["directory"] is None else existing_dir(params["directory"]),
        "allow": allowed_by(params["allow"], sandboxed=params["auto_allow_sandboxed"]),
        "model": params["model"],
        "max_turns": params["max_turns"],
        "max_cost_usd": params["max_cost"],
        "max_tree_turns": params["max_tree_turns"],
        "tags": params["tag"] or (),
        "labels": labels_of(params["label"]),
        "priority": params["priority"],
        "system": params["system"],
        "force": params["force"],
    }
    return values if params["mode"] is None or "mode" not in given else {**values, "mode": params["mode"]}

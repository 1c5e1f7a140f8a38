"""`tree`: what a task waits for, what waits for it, and what it has made."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import harmless, hint, out, print_json, short_id
from neuraphage.model.task_tree import TreeNode

INDENT = "  "


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage tree 1dd199f3d80d")(tree)


def tree(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show what a task waits for, and what it has made.

    Over all tasks between, with what a failure means on each edge.
    """
    with connect_to_read() as api:
        found = api.tree(task_id)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    out.print(harmless(f"{short_id(found.task_id)}  {found.status.value}  {found.name}", "bold"))
    for heading, nodes in (
        ("waits for", found.waits_for),
        ("awaited by", found.awaited_by),
        ("has made", found.subtasks),
    ):
        if nodes:
            out.print(f"{INDENT}{heading}")
            _show(nodes, 2)
    if found.made_by is not None:
        out.print(harmless(f"{INDENT}made by {short_id(found.made_by)}"))
    if not found.waits_for and not found.awaited_by and not found.subtasks:
        hint("it waits for no task, none waits for it, and it has made none", "dim")
    if found.is_cut:
        hint("there are more than are shown", "dim")


def _show(nodes: Iterable[TreeNode], depth: int) -> None:
    for node in nodes:
        rule = f" ({node.on_failure.value})" if node.on_failure is not None else ""
        text = f"{short_id(node.task_id)}  {node.status.value if node.status else 'deleted'}{rule}  {node.name}"
        out.print(harmless(INDENT * depth + text + ("  ..." if node.is_repeated else "")))
        _show(node.below, depth + 1)

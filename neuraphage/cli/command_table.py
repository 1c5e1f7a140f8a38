"""Which module each command is in. A call imports one of them; the help of all, and a completion, none.

Imports are most of what a command takes, so that this decides how soon it answers.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from neuraphage.cli.flags import forget_flags
from neuraphage.cli.lazy_imports import without_plugins
from neuraphage.cli.shared_options import add_shared_options
from neuraphage.inside_command import refuse_inside_command


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One command of the table.

    Args:
        module: where it is, in this folder, with a function `register`.
        text: the first line of its help.
        orders: whether it changes tasks, or starts and removes what they stand on: a task's own command may not.
    """

    module: str
    text: str
    orders: bool = False


TABLE = {
    "run": CommandEntry("run_command", "Run a task and show it as it goes.", orders=True),
    "demo": CommandEntry("demo_command", "Repair a project while its workers are killed.", orders=True),
    "dev": CommandEntry("stack_commands", "Keep a local stack up until Ctrl-C.", orders=True),
    "submit": CommandEntry("task_commands", "Submit a task and print its id.", orders=True),
    "attach": CommandEntry("attach_command", "Show a task as it goes."),
    "inbox": CommandEntry("inbox_command", "Show what all tasks ask, and answer it."),
    "answer": CommandEntry("answer_command", "Answer what a task asks.", orders=True),
    "send": CommandEntry("task_commands", "Send a message to the model of a task.", orders=True),
    "pause": CommandEntry("task_commands", "Stop a task after the step in hand, until it is resumed.", orders=True),
    "resume": CommandEntry("task_commands", "Go on with a paused task.", orders=True),
    "cancel": CommandEntry("task_commands", "End a task; what it runs is stopped.", orders=True),
    "retry": CommandEntry("task_commands", "Go on with a failed task from where it stopped.", orders=True),
    "model": CommandEntry("task_commands", "Set which model a task calls, from its next request on.", orders=True),
    "limit": CommandEntry("task_commands", "Set the limits of a task, from its next model call on.", orders=True),
    "deps": CommandEntry("deps_commands", "Have tasks wait for tasks.", orders=True),
    "tree": CommandEntry("tree_command", "Show what a task waits for, and what it has made."),
    "locks": CommandEntry("locks_commands", "Show who holds what, and who waits for it; or break a lock."),
    "schedules": CommandEntry("schedules_commands", "Have tasks made again and again, at times."),
    "admission": CommandEntry("admission_command", "Show the slots of tasks at work, and who waits for one."),
    "list": CommandEntry("list_command", "List tasks, newest first."),
    "cost": CommandEntry("cost_commands", "Show what was spent, tasks that are deleted included."),
    "pools": CommandEntry("cost_commands", "Show pools of money, or set the limit of one."),
    "show": CommandEntry("read_commands", "Show one task in full."),
    "checkpoint": CommandEntry("read_commands", "Show what a task would go on from."),
    "events": CommandEntry("events_command", "Show what happened to a task, or to all tasks, oldest first."),
    "why": CommandEntry("why_command", "Say why a task stands where it stands, and what happens next."),
    "context": CommandEntry("context_command", "Show what fills the context window of a task."),
    "capacity": CommandEntry("capacity_command", "Show what limits calls of models now."),
    "recover": CommandEntry("admin_commands", "Show the last recovery, or put tasks back to work."),
    "health": CommandEntry("health_command", "Say whether the workers of this host work, by exit 0 or 1."),
    "relay": CommandEntry("relay_command", "Hold the connections to the model's provider.", orders=True),
    "version": CommandEntry("version_command", "Show the version."),
    "env": CommandEntry("env_command", "Print the variables that lead other programs to this stack."),
    "config": CommandEntry("config_commands", "Show settings and where they come from."),
    "where": CommandEntry("where_command", "Show where data, settings and logs are, and how large."),
    "purge": CommandEntry("purge_command", "Remove the data folder of this host with all its tasks.", orders=True),
    "doctor": CommandEntry("doctor_command", "Look at all that tasks need, and say what is wrong."),
    "tools": CommandEntry("tools_commands", "Show and check the tools that a model may call."),
    "hooks": CommandEntry("hooks_commands", "Show and try hooks, and what observers failed on."),
    "rules": CommandEntry("rules_commands", "Show, change and explain rules about calls of tools."),
    "trust": CommandEntry("trust_command", "Trust the rules that a project brings."),
    "repair": CommandEntry("repair_command", "Put lost or damaged indexes back from the records.", orders=True),
}
"""Every command by its name, in the order of the help."""


class Commands(MutableMapping[str, Any]):
    """The commands by name; each is imported when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made |= {made: _guarded(made, one) for made, one in commands_of(TABLE[name].module).items()}
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def __contains__(self, name: object) -> bool:
        return name in TABLE


def _guarded(name: str, command: Any) -> Any:
    """A command that is refused where it would be an order from inside a task."""
    invoke = command.invoke

    def checked(ctx: Any) -> Any:
        refuse_inside_command(f"`neuraphage {name}`")
        return invoke(ctx)

    if name in TABLE and TABLE[name].orders:
        command.invoke = checked
    return command


def commands_of(module: str) -> dict[str, Any]:
    """The commands that a module registers, with the options that all commands take."""
    app = typer.Typer(rich_markup_mode=None)
    with without_plugins():
        importlib.import_module(f"neuraphage.cli.{module}").register(app)
    commands: dict[str, Any] = dict(typer.main.get_group(app).commands)
    for command in commands.values():
        add_shared_options(command)
    return commands


class CommandTable(TyperGroup):
    """The program: the commands of TABLE, and the options that it shares with them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": None})
        self.commands = Commands()
        self._is_listed = False
        add_shared_options(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after what an earlier call in the same process said about settings is forgotten."""
        forget_flags()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Names of all commands, in the order of the help."""
        return list(TABLE)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """One of them; while all are listed, one that knows its first line alone."""
        if cmd_name not in TABLE:
            return None
        return TyperCommand(cmd_name, help=TABLE[cmd_name].text) if self._is_listed else self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """All of them, each in a line."""
        with self._listed():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Those whose names begin so."""
        with self._listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listed(self) -> Iterator[None]:
        self._is_listed = True
        try:
            yield
        finally:
            self._is_listed = False

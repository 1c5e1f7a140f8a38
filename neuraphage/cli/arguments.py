"""Arguments that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from neuraphage.cli.completion import task_ids
from neuraphage.cli.flags import choose_flag
from neuraphage.decide.own_prices import read_label
from neuraphage.decide.request_extra import check_extra
from neuraphage.errors import BadInput
from neuraphage.model.dependency import Dependency, read_dependency
from neuraphage.model.limits import MOST_TREE_TURNS, MOST_TURNS
from neuraphage.model.money import MAX_LABELS
from neuraphage.model.task import Mode, OnUnknownOutcome
from neuraphage.setting_values import MAX_S

TaskId = Annotated[str, typer.Argument(help="Task id, or any unique part of it.", autocompletion=task_ids)]
_TURNS = "Limit of turns for one piece of work"
_MONEY = "Limit of money for the whole task, dollars"
MaxTurns = Annotated[int | None, typer.Option(help=f"{_TURNS}, 1 to {MOST_TURNS:,}.")]
MaxCost = Annotated[float | None, typer.Option(help=f"{_MONEY}, more than 0.")]
"""Of a task that begins or goes on: see `new_task.check_limits`, which refuses the others in words of its own."""
TreeTurns = Annotated[
    int | None,
    typer.Option("--max-tree-turns", metavar="N", help="Of it and its subtasks.", min=0, max=MOST_TREE_TURNS),
]
AnyTurns = Annotated[int | None, typer.Option("--max-turns", help=f"{_TURNS}.", min=0, max=MOST_TURNS)]
AnyCost = Annotated[float | None, typer.Option("--max-cost", help=f"{_MONEY}.", min=0)]
"""Of a task that may also be stopped by it."""
TaskMode = Annotated[
    Mode | None,
    typer.Option(
        help="autonomous, or conversational: it waits for your next message when the model has ended its turn.",
        metavar="<mode>",
        case_sensitive=False,
    ),
]
PermissionTimeout = Annotated[
    str | None,
    typer.Option(
        "--permission-timeout",
        help="How long a permission waits for an answer before the call is denied: seconds, or none.",
        metavar="<s>",
    ),
]
Attach = Annotated[
    list[Path] | None,
    typer.Option("--attach", help="An image or a PDF that the model is shown; may be repeated.", metavar="<file>"),
]
WhenUnknown = Annotated[
    OnUnknownOutcome,
    typer.Option(
        help="When nothing knows whether an interrupted command ran: tell_model or ask_user.",
        metavar="<what>",
        case_sensitive=False,
    ),
]


Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", help="What its money is counted under, as team=web; may be repeated.", metavar="NAME=VALUE"
    ),
]


def labels_of(texts: list[str] | None) -> dict[str, str]:
    """What --label was given.

    Raises:
        BadInput: one is no label, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, value = read_label(text)
        if name in found:
            raise BadInput(f"--label {name} is given twice; a task has one value of it")
        found[name] = value
    if len(found) > MAX_LABELS:
        raise BadInput(f"{len(found)} labels are given, {MAX_LABELS} are the most")
    return found


def _choose_tools(value: list[str] | None) -> list[str] | None:
    if value:
        choose_flag("tools", tuple(value))
    return value


Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        help="A tool of your own, as package.module:object; may be repeated. Stands in place of the setting `tools`.",
        callback=_choose_tools,
        metavar="MODULE:OBJECT",
    ),
]


def _choose_hooks(value: list[str] | None) -> list[str] | None:
    if value:
        choose_flag("hooks", tuple(value))
    return value


Hooks = Annotated[
    list[str] | None,
    typer.Option(
        "--hook",
        help="A hook of your own, as package.module:object; may be repeated. Stands in place of the setting `hooks`.",
        callback=_choose_hooks,
        metavar="MODULE:OBJECT",
    ),
]


Model = Annotated[
    str | None, typer.Option(help="Model id, openai:NAME for one of OpenAI's API, or a tier: cheap, worker, expert.")
]
Extra = Annotated[
    str | None, typer.Option(help="Further fields of each request to the model, as JSON.", metavar="JSON")
]


def _choose_base_url(value: str | None) -> str | None:
    if value is not None:
        choose_flag("openai_base_url", value)
    return value


BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="Where models of the form openai:NAME are: a server of your own, mostly with /v1 at the end.",
        callback=_choose_base_url,
        metavar="URL",
    ),
]


def _choose_prices(value: list[str] | None) -> list[str] | None:
    if value:
        choose_flag("prices", tuple(value))
    return value


Prices = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        help='What a model costs, as "MODEL INPUT OUTPUT" in dollars a million tokens, "openai: 0 0" where nothing'
        " does; may be repeated. Stands in place of the setting `prices`.",
        callback=_choose_prices,
        metavar="PRICE",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Take a folder that is too wide: /, a home, or one around or in the data folder."),
]
FOREVER: Literal["none"] = "none"


def timeout_s(text: str | None) -> float | Literal["none"] | None:
    """What --permission-timeout was given; None when it was not.

    Raises:
        BadInput: it is neither a time nor none.
    """
    if text is None or text == FOREVER:
        return text and FOREVER
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_S:
        raise BadInput(f"--permission-timeout {text!r}: give seconds, more than 0, or none")
    return seconds


After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        help="A task that must end first, as TASK, or TASK=skip or TASK=go_on for what is to happen if it fails (else"
        " this one waits on); may be repeated.",
        metavar="TASK",
        autocompletion=task_ids,
    ),
]


def dependencies_of(texts: list[str] | None) -> list[Dependency]:
    """What --after was given, with ids as they were typed.

    Raises:
        BadInput: one says of a failure what there is not.
    """
    try:
        return [read_dependency(text) for text in texts or ()]
    except BadInput as error:
        raise BadInput(f"--after {error}") from None


AsJson = Annotated[bool, typer.Option("--json", help="JSON with stable names, for programs.")]


def given_extra(text: str | None) -> dict[str, Any] | None:
    """What --extra was given; None when it was not.

    Raises:
        BadInput: it is no JSON object, or names what a request says by itself.
    """
    try:
        return None if text is None else check_extra(text)
    except BadInput as error:
        raise BadInput(f"--extra: {error}") from None


def existing_dir(directory: Path, given: str = "--dir") -> str:
    """The absolute path of a directory, as a task holds it: read as UTF-8, in whatever alphabet this locale has names.

    Args:
        directory: as it was given.
        given: by which option or command, for people.

    Raises:
        BadInput: there is none, or its path is not UTF-8 text, which no task can hold.
    """
    if "\0" in str(directory):
        raise BadInput(f"{given} {str(directory)!r}: a path holds no NUL character")
    if not directory.is_dir():
        found = "this is a file, and a directory is wanted" if directory.exists() else "there is no such directory"
        raise BadInput(f"{given} {directory}: {found}")
    path = directory.resolve()
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"the path of the directory is not UTF-8 text: {str(path)!a}; give it a name that is") from None

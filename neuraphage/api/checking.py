"""What a new task is given, checked before anything of it is stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from neuraphage.decide.attachments import attachment_of, limits_of, refuse_over
from neuraphage.decide.limits import running_ms
from neuraphage.decide.rules.reading import read_allowed
from neuraphage.errors import BadInput
from neuraphage.model.attachment import Attachment

if TYPE_CHECKING:
    from datetime import timedelta

    from neuraphage.ports import WorkingFiles
    from neuraphage.settings import Settings

Attachable = str | Path | bytes | Attachment
"""Path of a file of this machine, or the bytes of an image or a document."""


def attached(
    settings: Settings, given: Iterable[Attachable], held: Iterable[tuple[str, int]] = ()
) -> tuple[Attachment, ...]:
    """Images and documents that a person gives a task.

    Args:
        settings: with the limits.
        given: files or bytes.
        held: digests and bytes of what the task has already.

    Raises:
        BadInput: one cannot be read, is of no kind that models take, or is over a limit.
    """
    limits = limits_of(settings)
    found = tuple(_attachment(one, limits.each_bytes) for one in given)
    refuse_over(limits, found, held)
    return found


def _attachment(one: Attachable, most_bytes: int) -> Attachment:
    if isinstance(one, Attachment):
        return one
    if isinstance(one, bytes):
        return attachment_of(one)
    path = Path(one)
    try:
        if not path.is_file():
            raise BadInput(f"attachment {path}: there is no such file; name a file of this machine")
        if path.stat().st_size > most_bytes:
            raise BadInput(
                f"attachment {path} has {path.stat().st_size:,} bytes; attachment_max_bytes is {most_bytes:,}: make it"
                " smaller"
            )
        return attachment_of(path.read_bytes(), path.name)
    except (OSError, ValueError) as error:
        raise BadInput(f"attachment {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def readable(allow: Iterable[str]) -> tuple[str, ...]:
    """What a task allows; each can be read as a rule.

    Raises:
        BadInput: one cannot.
    """
    allowed = tuple(allow)
    for one in allowed:
        read_allowed(one)
    return allowed


def one_line(prompt: str) -> str:
    """The first words of a prompt, as a name."""
    words = " ".join(prompt.split())
    return (words[:77] + "...") if len(words) > 80 else words or "task"


def require_narrow(files: WorkingFiles, working_dir: str, data_dir: Path) -> None:
    """Refuse a working directory that reaches more than the tools of a task should.

    Args:
        files: of this machine.
        working_dir: absolute path.
        data_dir: where neuraphage keeps its data.

    Raises:
        BadInput: it does; the message says why.
    """
    reason = files.too_wide(working_dir, data_dir)
    if reason is not None:
        raise BadInput(
            f"the working directory {working_dir} {reason}; name a folder of one project, or take it all the same"
            " with --force (force=True of a client)"
        )


def new_limits(
    settings: Settings,
    max_turns: int | None,
    max_cost_usd: float | None,
    max_tree_turns: int | None,
    max_running_for: float | timedelta | None,
) -> dict[str, int | None]:
    """Limits of a new task: those of the settings unless others are given.

    Raises:
        BadInput: max_cost_usd is no number.
    """
    if not math.isfinite(max_cost_usd or 0):
        raise BadInput(f"max_cost_usd is {max_cost_usd}; give a number of dollars")
    cost, tree = settings.max_cost_microusd, settings.max_tree_turns
    return {
        "max_turns": settings.max_turns if max_turns is None else max_turns,
        "max_cost_microusd": cost if max_cost_usd is None else round(max_cost_usd * 1_000_000),
        "max_tree_turns": max_tree_turns if max_tree_turns is not None else None if tree == "none" else tree,
        "max_running_ms": running_ms(max_running_for),
    }

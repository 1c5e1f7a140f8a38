"""Command lines that we tell people to type; they reach the same stack as the command that tells them."""

from __future__ import annotations

import shlex

from neuraphage.cli.flags import chosen_flags


def command_line(*words: str) -> str:
    """A command of ours, with the options of this call that say where the stack is.

    Args:
        words: what follows the program's name, as a person types it.
    """
    data_dir = chosen_flags().get("data_dir")
    where = () if data_dir is None else ("--data-dir", shlex.quote(str(data_dir)))
    return " ".join(("neuraphage", *where, *words))


def typed_here(text: str) -> str:
    """A text whose commands of ours reach the same stack as this one."""
    return text.replace("`neuraphage ", f"`{command_line()} ")

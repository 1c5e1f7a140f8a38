"""From a command to the order its runner is given, and to the note about it that people may read."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from neuraphage.errors import BadInput
from neuraphage.ports import SpoolCommand
from neuraphage.spool import records
from neuraphage.spool.entry import COMMAND

_ORDER_MAX_BYTES = 4 * 1024 * 1024


def pack(command: SpoolCommand, entry: Path, max_output_bytes: int) -> bytes:
    """Check a command and write the order for its runner.

    Args:
        command: what to run.
        entry: its directory.
        max_output_bytes: past it the runner ends the command.

    Raises:
        BadInput: it cannot be run as given; the message says why.
    """
    group = command.cgroup
    paths = [*command.kept, *([group.path] if group is not None else ())]
    fields = [command.cwd, *paths, *command.argv, *command.env, *command.env.values()]
    if not command.argv or not command.argv[0] or any("\0" in field for field in fields):
        raise BadInput("a command needs a program, and no part of it may hold a NUL character")
    if any("=" in name or not name for name in command.env):
        raise BadInput("names of environment variables must not be empty or hold '='")
    if not (command.timeout_s > 0 and math.isfinite(command.timeout_s)):
        raise BadInput(f"timeout_s must be a positive number of seconds, not {command.timeout_s}")
    try:
        order = records.pack_order(
            entry=str(entry),
            cwd=command.cwd,
            timeout_s=command.timeout_s,
            max_output_bytes=max_output_bytes,
            argv=command.argv,
            env=command.env,
            kept=command.kept,
            cgroup=("", 0, 0) if group is None else (group.path, group.memory_bytes, group.processes),
            gate=command.gate,
        )
    except UnicodeEncodeError as error:
        raise BadInput(f"the command holds text that is no Unicode: {error.reason}") from error
    if len(order) > _ORDER_MAX_BYTES:
        raise BadInput(f"the command is {len(order)} bytes long; the limit is {_ORDER_MAX_BYTES}")
    return order


def write_command(directory: int, command: SpoolCommand) -> None:
    """Write the note `command.json`: whole or not at all, and without the environment, which may hold secrets."""
    facts = {
        "task_id": command.task_id,
        "argv": command.argv,
        "cwd": command.cwd,
        "timeout_s": command.timeout_s,
    }
    content = json.dumps(facts).encode()  # not orjson: an argument may hold bytes that are no UTF-8
    temporary = f"{COMMAND}.{os.urandom(8).hex()}"
    records.write_file(directory, temporary, content)
    os.rename(temporary, COMMAND, src_dir_fd=directory, dst_dir_fd=directory)

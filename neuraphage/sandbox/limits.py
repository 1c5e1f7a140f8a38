"""What a command in a sandbox may use: set by its shell, inside, just before it begins."""

from __future__ import annotations

import resource
from collections.abc import Sequence

from neuraphage.model.sandbox import CommandLimits

SHELL = "/bin/bash"
_LOWER = 'umask 077; ulimit -c 0; ulimit -d "$1"; ulimit -f "$2"; ulimit -u "$3"; shift 3; exec "$@"'
"""Fixed text: what differs is given as arguments."""
_KIB = 1024


def limited(argv: Sequence[str], limits: CommandLimits) -> tuple[str, ...]:
    """A command line that sets limits and then becomes another one.

    Args:
        argv: program and arguments.
        limits: from within_system_limits; a shell that is told to raise one refuses.
    """
    # as bash counts them: data and files by 1,024 bytes
    amounts = (limits.memory_bytes // _KIB, limits.file_bytes // _KIB, limits.processes)
    return (SHELL, "-c", _LOWER, "neuraphage", *map(str, amounts), *argv)


def within_system_limits(limits: CommandLimits) -> CommandLimits:
    """These limits, lowered to what this process may set."""

    def lowered(value: int, kind: int) -> int:
        most = resource.getrlimit(kind)[1]
        return value if most == resource.RLIM_INFINITY else min(value, most)

    return CommandLimits(
        memory_bytes=lowered(limits.memory_bytes, resource.RLIMIT_DATA),
        processes=lowered(limits.processes, resource.RLIMIT_NPROC),
        file_bytes=lowered(limits.file_bytes, resource.RLIMIT_FSIZE),
    )

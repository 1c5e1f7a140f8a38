"""The last steps of a sandbox, inside, by a shell: it sets what the command may use, and waits until it may begin."""

from __future__ import annotations

import resource
from collections.abc import Sequence

from neuraphage.model.sandbox import CommandLimits

SHELL = "/bin/bash"
STANDS, BEGIN = 7, 8
"""Files of the command line: a byte on the one tells that the sandbox stands, one from the other begins the command.
Without it the command does not begin, whoever has started the command line."""
_LOWER = 'umask 077; ulimit -c 0; ulimit -d "$1"; ulimit -f "$2"; ulimit -u "$3"; shift 3; '
_GATE = f'printf . >&{STANDS}; read -r -n 1 -u {BEGIN} NEURAPHAGE_BEGIN || exit 126; exec "$@" {STANDS}>&- {BEGIN}<&-'
"""Fixed texts: what differs is given as arguments."""
_OPENED = f'exec "$@" {STANDS}>/dev/null {BEGIN}<<end\ngo\nend\n'
_KIB = 1024


def limited(argv: Sequence[str], limits: CommandLimits) -> tuple[str, ...]:
    """A command line that sets limits, and then becomes another one when it may.

    Args:
        argv: program and arguments.
        limits: from within_system_limits; a shell that is told to raise one refuses.
    """
    # as bash counts them: data and files by 1,024 bytes
    amounts = (limits.memory_bytes // _KIB, limits.file_bytes // _KIB, limits.processes)
    return (SHELL, "-c", _LOWER + _GATE, "neuraphage", *map(str, amounts), *argv)


def let_begin(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line of a sandbox, for whoever starts it without a spool: its command may begin at once."""
    return ("/bin/sh", "-c", _OPENED, "neuraphage", *argv)


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

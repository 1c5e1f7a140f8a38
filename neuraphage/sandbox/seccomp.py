"""The filter of system calls, as the program that the kernel runs at each of them (classic BPF).

`bwrap --seccomp FD` and landlock_exec.py take it. What it refuses is in refused_calls.py; everything else is allowed.
A call of another machine (32-bit programs on x86_64) ends the process: its numbers mean other calls. One with a number
past the list, that of x32 included, answers as in a kernel that does not have it: nobody has looked at it yet.

Arguments are compared by their lower 32 bits, which is all that the kernel itself looks at in these calls: the upper
ones must not make a difference.

Standard library only: landlock_exec.py loads this file by its folder.
"""

from __future__ import annotations

import errno
import struct

TYPE_CHECKING = False  # type checkers know this name; importing typing would lengthen the start of landlock_exec.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuraphage.sandbox import refused_calls
elif __package__:
    from neuraphage.sandbox import refused_calls
else:
    import refused_calls

ALLOW = 0x7FFF0000
KILL = 0x80000000
"""SECCOMP_RET_KILL_PROCESS."""
ERRNO = 0x00050000
"""SECCOMP_RET_ERRNO; the number of the error is added to it."""

_LOAD, _IF_EQUAL, _IF_ABOVE, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Where struct seccomp_data has them, in bytes."""

Step = tuple[int, int, int, int]
"""struct sock_filter: code, steps to leave out if true, if false, and a number."""


def compiled_filter(machine: str, *, namespaces: bool = True) -> bytes | None:
    """The filter for a machine.

    Args:
        machine: as uname names it (`platform.machine()`).
        namespaces: whether the command has namespaces of its own. Without them it gets no sockets but pairs of
            connected ones, which reach nothing else, and sets no limits of other processes.

    Returns:
        An array of struct sock_filter; None for a machine that the numbers of the calls are not known of.
    """
    if machine not in refused_calls.MACHINES:
        return None
    column = list(refused_calls.MACHINES).index(machine)
    steps = [
        _load(_MACHINE),
        *_unless_equal(refused_calls.MACHINES[machine], [_answer(KILL)]),
        _load(_NUMBER),
        (_IF_ABOVE, 0, 1, refused_calls.NEWEST),
        _refuse(errno.ENOSYS),
    ]
    for error, _name, *numbers in refused_calls.CALLS:
        number = numbers[column]
        if number is not None:
            steps += _if_equal(number, [_refuse(error)])
    for name, weigh in _weighed(namespaces).items():
        steps += _if_equal(refused_calls.WEIGHED[name][column], weigh)
    return b"".join(struct.pack("<HBBI", *step) for step in [*steps, _answer(ALLOW)])


def _weighed(namespaces: bool) -> dict[str, list[Step]]:
    """What decides about a call by its arguments; each ends with an answer."""
    denied, unknown = [_refuse(errno.EPERM)], [_refuse(errno.EAFNOSUPPORT)]
    new = refused_calls.NEW_NAMESPACES
    families = (refused_calls.UNIX, refused_calls.INET, refused_calls.INET6)
    return {
        "clone": [*_if_any_bit(0, new, denied), _answer(ALLOW)],
        "unshare": [*_if_any_bit(0, new | refused_calls.NEW_TIME, denied), _answer(ALLOW)],
        "ioctl": [*_if_one_of(1, refused_calls.TERMINAL_INPUT, denied), _answer(ALLOW)],
        "personality": [*_if_one_of(0, refused_calls.PERSONALITIES, [_answer(ALLOW)]), *denied],
        "socket": [
            *_if_one_of(0, families, [_answer(ALLOW)]),
            *_if_one_of(0, [refused_calls.NETLINK], _if_one_of(2, [refused_calls.ROUTE], [_answer(ALLOW)])),
            *unknown,
        ]
        if namespaces
        else denied,
        # of its own processes alone, as sanitizers and debuggers do; without namespaces it would see others
        "ptrace": [_answer(ALLOW)] if namespaces else denied,
        "socketpair": [*_if_one_of(0, [refused_calls.UNIX], [_answer(ALLOW)]), *unknown],
        "prlimit64": [_answer(ALLOW)] if namespaces else [*_if_one_of(0, [0], [_answer(ALLOW)]), *denied],
    }


def _load(offset: int) -> Step:
    return (_LOAD, 0, 0, offset)


def _answer(action: int) -> Step:
    return (_RETURN, 0, 0, action)


def _refuse(error: int) -> Step:
    return _answer(ERRNO | error)


def _if_equal(value: int, then: list[Step]) -> list[Step]:
    return [(_IF_EQUAL, 0, len(then), value), *then]


def _unless_equal(value: int, then: list[Step]) -> list[Step]:
    return [(_IF_EQUAL, len(then), 0, value), *then]


def _if_one_of(argument: int, values: Iterable[int], then: list[Step]) -> list[Step]:
    """Look at an argument; whatever is behind `then` is for all other values of it."""
    steps = [_load(_ARGUMENTS + 8 * argument)]
    for value in values:
        steps += _if_equal(value, then)
    return steps


def _if_any_bit(argument: int, bits: int, then: list[Step]) -> list[Step]:
    return [_load(_ARGUMENTS + 8 * argument), (_IF_ANY_BIT, 0, len(then), bits), *then]

"""The calls of the kernel by which a process gives up rights, for itself and all that it starts (Linux).

Standard library only: landlock_exec.py loads this file by its folder.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _BY_FILTER = 38, 22, 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_V3 = 0x20080522
_FILE_NAMES = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if sys.platform == "linux" else 0


def landlock_abi() -> int:
    """Version of Landlock that the kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)), 0)


def forbid_new_privileges() -> None:
    """No program that is run from now on has more rights than this process, whatever its mode says.

    Raises:
        OSError: the kernel refused.
    """
    _done("prctl(PR_SET_NO_NEW_PRIVS)", _libc().prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def restrict(rules: dict[str, int], handled: tuple[int, int, int], of_files: int) -> None:
    """Allow only what the rules do. A path that is not there, or is a link, is left out.

    Args:
        rules: what is allowed, by path.
        handled: what is refused else: of files, of TCP, of scopes.
        of_files: what can be allowed of something that is no folder.

    Raises:
        OSError: the kernel refused.
    """
    libc = _libc()
    files, tcp, scopes = handled
    attributes = struct.pack("=QQQ", files, tcp, scopes)
    size_bytes = 24 if scopes else 16 if tcp else 8  # an older kernel refuses what it does not know
    ruleset = _done(
        "landlock_create_ruleset", libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size_bytes), 0)
    )
    for path, access in rules.items():
        try:
            file = os.open(path, _FILE_NAMES)
        except OSError:
            continue
        mode = os.fstat(file).st_mode
        allowed = access & files & (-1 if stat.S_ISDIR(mode) else of_files)
        if allowed and not stat.S_ISLNK(mode):
            rule = struct.pack("=Qi", allowed, file)
            _done(f"landlock_add_rule for {path}", libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(file)
    _done("landlock_restrict_self", libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def drop_capabilities(machine: str) -> None:
    """Give up the rights of root, which a process of root has in this way, too. Forbid new privileges before.

    Args:
        machine: as uname names it; on one that is not known nothing is done.

    Raises:
        OSError: the kernel refused.
    """
    if machine in _CAPSET:
        header, nothing = struct.pack("=Ii", _CAPABILITIES_V3, 0), bytes(24)
        _done("capset", _libc().syscall(_CAPSET[machine], header, nothing))


def filter_calls(program: bytes) -> None:
    """Let the kernel run a filter at each system call.

    Args:
        program: from seccomp.compiled_filter.

    Raises:
        OSError: the kernel refused.
    """
    steps = ctypes.create_string_buffer(program, len(program))
    count = len(program) // 8
    head = struct.pack("@HP", count, ctypes.addressof(steps))
    _done("prctl(PR_SET_SECCOMP)", _libc().prctl(_SET_SECCOMP, _BY_FILTER, ctypes.c_char_p(head), 0, 0))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(what: str, returned: int) -> int:
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return returned

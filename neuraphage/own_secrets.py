"""Secrets of this process's own environment: read once, kept in its memory, hidden from its user's other processes.

Whatever this process starts (a command, a search, a tool's own program) inherits what `os.environ` holds, and whoever
has the same user may read `/proc/PID/environ`. So a process of ours takes its keys and the addresses with passwords out
of both, and is not dumpable. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress

from neuraphage.proc import kernel_ties

MODEL_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "NEURAPHAGE_OPENAI_API_KEY")
"""In capitals; settings are read from small letters, too."""
_ADDRESS = re.compile(r"NEURAPHAGE_\w*URL", re.IGNORECASE)

_WITH_PASSWORD = re.compile(r"@|password=", re.IGNORECASE)
"""A login before the host, or a parameter, as `sentinel_password=` is one."""

_kept: dict[str, str] = {}


def hide() -> None:
    """Take the secrets out of the environment, and let no other process of this user read this one's memory (Linux).

    A program that replaces this one (execve) can be read again; forked children can not.
    """
    with suppress(OSError):  # a kernel that refuses: the environment is emptied all the same
        kernel_ties.hide_memory()
    for name in [name for name in os.environ if _is_secret(name)]:
        _kept[name] = os.environ[name]
        _overwrite(name)
        del os.environ[name]


def give_back() -> None:
    """Put them into the environment again, for a program that is about to replace this one."""
    os.environ.update(_kept)


def forget_model_keys() -> None:
    """Let the keys of the model go: this process never calls it."""
    for name in [name for name in _kept if is_model_key(name)]:
        del _kept[name]


def value(name: str) -> str:
    """A variable as this process was given it; empty when it was not."""
    return os.environ.get(name) or _kept.get(name, "")


def variables() -> dict[str, str]:
    """The environment as it was given, with what is kept from it."""
    return {**_kept, **os.environ}


def is_model_key(name: str) -> bool:
    """Whether a variable of this name holds a key of the model."""
    return name.upper() in MODEL_KEYS


def _is_secret(name: str) -> bool:
    is_address = _ADDRESS.fullmatch(name) is not None
    return is_model_key(name) or (is_address and _WITH_PASSWORD.search(os.environ[name]) is not None)


def _overwrite(name: str) -> None:
    """Overwrite the value where the kernel put it at the start: `/proc/PID/environ` shows that place for ever."""
    with suppress(OSError, AttributeError):  # no C library that can be loaded like this
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_void_p
        address = getenv(ctypes.c_char_p(os.fsencode(name)))
        if address:
            ctypes.memset(address, ord("x"), len(ctypes.string_at(address)))

"""Loads the Lua scripts that stand beside their callers and runs them by digest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any

import redis

from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.keys import SCRIPT_KEY_NAMES, STATUSES
from neuraphage.store.round_trip import Command

_WITH_CHANGES = frozenset({"commit", "suspend", "finish"})
_BARE = frozenset({"renew", "indexes"})
_CALLED = {"allowed": "ask what this user may do"}
"""What messages call a script whose name would not tell what was tried."""
_REPAIRS = frozenset({"repair"})
"""Begins also where a key has another type than it should have: it puts that right."""


class Script:
    """One Lua script with its shared parts.

    Args:
        name: file name without `.lua`; also what nearly all error messages call it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = source_of(name)
        self.digest = sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    def run(self, context: StoreContext, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run it, sending the source when the server does not know the digest.

        Raises:
            StoreUnavailable, StoreError: see `translated`.
        """
        return self.run_and_read(context, keys, args)[0]

    def run_and_read(
        self, context: StoreContext, keys: Sequence[str], args: Sequence[Any], *reads: Command
    ) -> list[Any]:
        """Run it and read something after it, in one round trip.

        Args:
            context: the store.
            keys: KEYS.
            args: ARGV.
            reads: commands that follow it.

        Returns:
            The script's reply, then one reply a command.

        Raises:
            StoreUnavailable, StoreError: see `translated`.
        """
        rest = (len(keys), *keys, *args)
        with translated(_CALLED.get(self.name, self.name)):
            replies = context.round_trips.send(("EVALSHA", self.digest, *rest), *reads)
            if isinstance(replies[0], redis.exceptions.NoScriptError):
                replies = context.round_trips.send(("EVAL", self.source, *rest), *reads)
            for reply in replies:
                if isinstance(reply, redis.exceptions.RedisError):
                    raise reply
            return replies


def _read(name: str) -> str:
    return files("neuraphage.store").joinpath(f"{name}.lua").read_text(encoding="utf-8")


def source_of(name: str) -> str:
    """The whole source of a script: key names, prelude, access, changes where used, and its own file."""
    if name in _BARE:
        return _read(name)
    names = "".join(f"local {key} = KEYS[{i}]\n" for i, key in enumerate(SCRIPT_KEY_NAMES, start=1))
    first = len(SCRIPT_KEY_NAMES) + 1
    statuses = ", ".join(f"{status} = KEYS[{first + i}]" for i, status in enumerate(STATUSES))
    repairs = "local REPAIRS = true\n" if name in _REPAIRS else "local REPAIRS = false\n"
    parts = [names, f"local STATUS = {{ {statuses} }}\n", repairs, _read("prelude"), _read("access")]
    if name in _WITH_CHANGES:
        parts.append(_read("changes"))
    return "".join([*parts, _read(name)])


@cache
def script(name: str) -> Script:
    """The script of this name; read once a process."""
    return Script(name)

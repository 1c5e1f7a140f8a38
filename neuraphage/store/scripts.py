"""Loads the Lua scripts that stand beside their callers and runs them by digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any

import redis

from neuraphage.store import lua_constants, sentences
from neuraphage.store.bindings import BINDINGS
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.round_trip import Command


class Script:
    """One Lua script with its shared parts.

    Args:
        name: of its binding.
    """

    def __init__(self, name: str) -> None:
        self.binding = BINDINGS[name]
        self.source = source_of(name)
        self.digest = sha1(self.source.encode(), usedforsecurity=False).hexdigest()
        self._names = self.binding.argument_names

    def run(
        self,
        context: StoreContext,
        given: Mapping[str, Any],
        *,
        task_id: str = "",
        keys: Sequence[str] = (),
        rest: Sequence[Any] = (),
    ) -> Any:
        """Run it, sending the source when the server does not know the digest.

        Args:
            context: the store.
            given: every argument of its binding by name.
            task_id: whose keys it is given, where it is about a task.
            keys: further keys, in the order of its binding.
            rest: what follows the arguments.

        Raises:
            StoreUnavailable, StoreError: see `translated`.
            TypeError: an argument is missing, or is none of the script's.
        """
        return self.run_and_read(context, given, task_id=task_id, keys=keys, rest=rest)[0]

    def run_and_read(
        self,
        context: StoreContext,
        given: Mapping[str, Any],
        *reads: Command,
        task_id: str = "",
        keys: Sequence[str] = (),
        rest: Sequence[Any] = (),
    ) -> list[Any]:
        """As `run`, and read something after it, in one round trip.

        Args:
            reads: commands that follow it.

        Returns:
            The script's reply, then one reply a command.
        """
        names = [*context.keys.script_keys(task_id), *keys] if self.binding.is_about_task else keys
        values = (len(names), *names, *self._ordered(given), *rest)
        with translated(self.binding.called or self.binding.name):
            replies = context.round_trips.send(("EVALSHA", self.digest, *values), *reads)
            if isinstance(replies[0], redis.exceptions.NoScriptError):
                replies = context.round_trips.send(("EVAL", self.source, *values), *reads)
            for reply in replies:
                if isinstance(reply, redis.exceptions.RedisError):
                    raise reply
            return replies

    def _ordered(self, given: Mapping[str, Any]) -> list[Any]:
        if len(given) != len(self._names) or any(name not in given for name in self._names):
            raise TypeError(f"{self.binding.name} takes {', '.join(self._names)}; given: {', '.join(given)}")
        return [given[name] for name in self._names]


def _read(name: str) -> str:
    return files("neuraphage.store").joinpath(f"{name}.lua").read_text(encoding="utf-8")


def source_of(name: str) -> str:
    """The whole source of a script: the names that it is given, its sentences, its shared parts and its own file."""
    binding = BINDINGS[name]
    said = "".join(sentences.spelled_out(file, _read(file)) for file in (*binding.parts, name))
    text = lua_constants.spelled_out(said)
    return binding.head() + lua_constants.head(text) + text


@cache
def script(name: str) -> Script:
    """The script of this name; read once a process."""
    return Script(name)

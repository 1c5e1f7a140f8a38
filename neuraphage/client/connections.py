"""The connections of a client, each made when it is first needed."""

from __future__ import annotations

import re
import secrets
from functools import cached_property
from typing import TYPE_CHECKING, Self

from neuraphage.client.waking import Waker
from neuraphage.client_wiring import build_store, redactor
from neuraphage.configuration import load
from neuraphage.dev import stack_file
from neuraphage.settings import Settings
from neuraphage.store import listing
from neuraphage.store.context import open_context

if TYPE_CHECKING:
    from neuraphage.decide.redaction import Redactor
    from neuraphage.runtime.service import TaskService
    from neuraphage.store.tasks import RedisStore

_WHOLE_ID = re.compile(r"task-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Connections:
    """The servers of one namespace.

    Args:
        settings: where the servers are; from the environment and the files of settings when not given.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or _settings_here()
        self._context = open_context(self.settings)
        self._waker = Waker(self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; nothing of the client works after it."""
        self._waker.close()
        self._context.client.close()

    @cached_property
    def _store(self) -> RedisStore:
        """The writes, over the same connections. Made for the first one: its scripts take longer than most reads."""
        return build_store(self.settings, self._context.client)

    @cached_property
    def _redaction(self) -> Redactor:
        """Made when a text is first sent: most clients read, and its patterns take as long as their answer."""
        return redactor()

    @property
    def _service(self) -> TaskService:
        """What carries requests out. What is wrong with the broker's URL is said before a write.

        Raises:
            SettingsError: the broker's URL cannot be read.
        """
        from neuraphage.runtime.service import TaskService  # noqa: PLC0415 - only for what changes a task

        self._waker.check()
        return TaskService(self._store, self._waker, self._redaction, lambda: secrets.token_hex(8))

    def find(self, prefix: str) -> str:
        """The full id of the one task that fits.

        Args:
            prefix: a whole id, or any unique part of one; an ellipsis around it counts nothing.

        Raises:
            TaskNotFound: none fits. A whole id is not looked up, so it is returned as it is.
            BadInput: several fit, or the text is empty.
            StoreUnavailable, StoreError: the ids could not be read.
        """
        whole = prefix.strip()
        return whole if _WHOLE_ID.fullmatch(whole) else listing.find(self._context, prefix)


def _settings_here() -> Settings:
    """Settings of the environment and the files; where they name no server, those of the local stack if one runs.

    Raises:
        SettingsError: a setting is wrong.
        StackError: the note of the local stack cannot be read.
    """
    settings = load()
    if settings.names_servers or not stack_file.exists(settings.data_dir):
        return settings
    return stack_file.settings_of_running_stack(settings)

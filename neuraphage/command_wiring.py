"""Composes commands: binds the application service to the servers that a command reaches, and to this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neuraphage.api import Api
from neuraphage.client_wiring import api_ports
from neuraphage.dev.stopped_stack import has_left_tasks, is_up
from neuraphage.settings import Settings


def api_of(settings: Settings) -> Api:
    """The application service on the servers of these settings. No connection is made yet.

    Raises:
        SettingsError: a server's URL cannot be read.
    """
    return Api(api_ports(settings))


@contextmanager
def api_of_left_tasks(settings: Settings) -> Iterator[Api]:
    """The application service on what the last local stack has left, for as long as this is entered.

    Args:
        settings: name the data folder.

    Raises:
        StackError: no program of a server was found, or it could not read the data.
    """
    from neuraphage.dev.offline_copy import settings_of_copy  # noqa: PLC0415 - only where no stack runs

    with settings_of_copy(settings) as copied, api_of(copied) as api:
        yield api


def has_only_left_tasks(settings: Settings) -> bool:
    """Whether no server is named, no local stack runs, and the last one has left tasks."""
    return not settings.names_servers and not is_up(settings) and has_left_tasks(settings.data_dir)

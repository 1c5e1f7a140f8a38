"""From the settings to the application service of the running stack."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuraphage import configuration
from neuraphage.cli.console import complain
from neuraphage.cli.flags import chosen_flags
from neuraphage.cli.lazy_imports import without_plugins
from neuraphage.settings import Settings
from neuraphage.stack_note import settings_of_running_stack

if TYPE_CHECKING:
    from neuraphage.api import Api

_log = logging.getLogger(__name__)


def load_settings() -> Settings:
    """Settings of the options, the environment and the files.

    Raises:
        SettingsError: a value is wrong, or two clash.
    """
    settings = configuration.load(**chosen_flags())
    if _log.isEnabledFor(logging.DEBUG):
        for one in configuration.shown(settings, **chosen_flags()):
            if one.origin != "default":
                _log.debug("%s = %s, from %s %s", one.name, one.value, one.origin, one.place)
    return settings


def connect() -> Api:
    """The application service of the running stack, or of the servers that the settings name.

    Raises:
        StackError: none is running and none is named.
        SettingsError: the settings clash.
    """
    with without_plugins():
        from neuraphage.command_wiring import api_of  # noqa: PLC0415 - many commands need settings and no server

    return api_of(server_settings())


def server_settings() -> Settings:
    """Settings that reach the servers: those of the running stack, or those that somebody named.

    Raises:
        StackError: none is running and none is named.
        SettingsError: the settings clash.
    """
    settings = settings_of_running_stack(load_settings())
    urls = (configuration.masked_url(url.get_secret_value()) for url in (settings.state_url, settings.broker_url))
    _log.info("state server %s, broker %s, namespace %s", *urls, settings.namespace)
    return settings


@contextmanager
def connect_to_read() -> Iterator[Api]:
    """As `connect` for a command that only reads: of the running stack or the servers that are named, or else of the
    data that the last local stack has left.

    Raises:
        StackError: none is running, none is named, and none has left anything.
        SettingsError: the settings clash.
    """
    with without_plugins():
        from neuraphage.command_wiring import api_of_left_tasks, has_only_left_tasks  # noqa: PLC0415 - as in `connect`

    settings = load_settings()
    has_ended = has_only_left_tasks(settings)
    if has_ended:
        complain("no stack runs; this is what the last one has left")
    with api_of_left_tasks(settings) if has_ended else connect() as api:
        yield api

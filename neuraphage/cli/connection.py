"""From the settings to a client of the running stack."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuraphage import configuration
from neuraphage.cli.console import complain
from neuraphage.cli.flags import chosen_flags
from neuraphage.cli.later import without_plugins
from neuraphage.dev.left_over import is_left, is_up
from neuraphage.dev.stack_file import settings_of_running_stack
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.client import Client

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


def connect() -> Client:
    """A client of the running stack, or of the servers that the settings name.

    Raises:
        StackError: none is running and none is named.
        SettingsError: the settings clash.
    """
    with without_plugins():
        from neuraphage.client import Client  # noqa: PLC0415 - many commands need settings and no server

    return Client(server_settings())


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
def connect_to_read() -> Iterator[Client]:
    """A client for a command that only reads: of the running stack or the servers that are named, or of the data that
    the last local stack has left.

    Raises:
        StackError: none is running, none is named, and none has left anything.
        SettingsError: the settings clash.
    """
    settings = load_settings()
    if settings.names_servers or is_up(settings) or not is_left(settings.data_dir):
        with connect() as client:
            yield client
        return
    from neuraphage.client import Client  # noqa: PLC0415 - as in `connect`
    from neuraphage.dev.past import settings_of_the_past  # noqa: PLC0415 - only where no stack runs

    complain("no stack runs; this is what the last one has left")
    with settings_of_the_past(settings) as past, Client(past) as client:
        yield client

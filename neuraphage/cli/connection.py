"""From the settings to a client of the running stack."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from neuraphage import configuration
from neuraphage.client import Client
from neuraphage.dev.stack_file import settings_of_running_stack
from neuraphage.settings import Settings

_log = logging.getLogger(__name__)
_flags: dict[str, Any] = {}
"""What options of the command line say about settings, for the command that runs."""


def choose_flags(*, data_dir: Path | None) -> None:
    """Note what this call's options say about settings; they come before every other layer.

    Args:
        data_dir: of --data-dir; None when it was not given.
    """
    _flags.clear()
    if data_dir is not None:
        _flags["data_dir"] = data_dir


def chosen_flags() -> dict[str, Any]:
    """What this call's options say about settings, by the name of the setting."""
    return dict(_flags)


def load_settings() -> Settings:
    """Settings of the options, the environment and the files.

    Raises:
        SettingsError: a value is wrong, or two clash.
    """
    settings = configuration.load(**_flags)
    if _log.isEnabledFor(logging.DEBUG):
        for one in configuration.shown(settings, **_flags):
            if one.origin != "default":
                _log.debug("%s = %s, from %s %s", one.name, one.value, one.origin, one.place)
    return settings


def connect() -> Client:
    """A client of the running stack, or of the servers that the settings name.

    Raises:
        StackError: none is running and none is named.
        SettingsError: the settings clash.
    """
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

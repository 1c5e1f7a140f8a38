"""The client for programs that wait."""

from __future__ import annotations

from neuraphage.api import Api
from neuraphage.client_wiring import api_ports
from neuraphage.settings import Settings


class Client(Api):
    """A client of one namespace. Thread-safe; use it as a context manager.

    Args:
        settings: where the servers are; from the environment and the files of settings when not given,
            or the local stack that runs.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read. No connection is made yet.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(api_ports(settings))

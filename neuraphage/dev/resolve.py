"""Choose the server of a stack: the one that settings name, else one of our own."""

from __future__ import annotations

from collections.abc import Mapping

from neuraphage.dev.address import ServerAddress
from neuraphage.dev.server import EmbeddedServer
from neuraphage.settings import Settings


def resolve_server(settings: Settings, environ: Mapping[str, str]) -> ServerAddress | EmbeddedServer:
    """Choose the server: the named one, else the `embedded` extra's program, else one on PATH.

    Args:
        settings: where a server is, if somebody said so, and the folder of one of our own.
        environ: of a server of our own.

    Returns:
        The address of a server that someone else runs, or a server of our own, not yet started. Starting it finds
        the program and raises StackError, naming the extra, when there is none.
    """
    if settings.names_servers:
        return ServerAddress(settings.state_url.get_secret_value(), settings.broker_url.get_secret_value())
    return EmbeddedServer(settings.data_dir, environ=environ)

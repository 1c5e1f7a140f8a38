"""Choose the server of a stack: the one that settings name, else one of our own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuraphage.dev.address import ServerAddress, external_address
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_config import Fsync


def resolve_server(
    environ: Mapping[str, str], data_dir: Path, *, fsync: Fsync = "always"
) -> ServerAddress | EmbeddedServer:
    """Choose the server: explicit URLs, else the `embedded` extra's program, else one on PATH.

    Args:
        environ: NEURAPHAGE_STATE_URL and NEURAPHAGE_BROKER_URL count only when set here, not by their defaults.
        data_dir: folder of a server of our own.
        fsync: of a server of our own.

    Returns:
        The address of a server that someone else runs, or a server of our own, not yet started. Starting it finds
        the program and raises StackError, naming the extra, when there is none.

    Raises:
        SettingsError: the URLs clash.
    """
    state_url, broker_url = environ.get("NEURAPHAGE_STATE_URL"), environ.get("NEURAPHAGE_BROKER_URL")
    if state_url or broker_url:
        return external_address(state_url, broker_url)
    return EmbeddedServer(data_dir, fsync=fsync, environ=environ)

"""`relay`: holds the connections to the model's provider."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from neuraphage import own_secrets
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain
from neuraphage.errors import RelayError
from neuraphage.relay_wiring import serve, serves


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage relay")(relay)


def relay(
    check: Annotated[bool, typer.Option("--check", help="Say by exit 0 or 1 whether one takes calls here.")] = False,
) -> None:
    """Hold the connections to the model's provider.

    So a reply outlives its worker. Workers start one by themselves; as a service of its own it outlives their
    containers, and all that share the data folder use it. SIGTERM: it takes no new calls, and ends when those under way
    are over.
    """
    settings = load_settings()
    if check:
        if not serves(settings):
            complain(f"no relay runs as a service in {settings.data_dir}")
            raise typer.Exit(1)
        return
    own_secrets.hide()  # commands are of the same user, and requests have keys of the model
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        serve(settings)
    except OSError as error:
        raise RelayError(
            f"the relay cannot listen in {settings.data_dir}: {error.strerror or error}; check its owner, its mode and"
            " its space"
        ) from error

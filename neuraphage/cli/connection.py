"""From the environment to a client of the running stack."""

from __future__ import annotations

import os

from pydantic import SecretStr, ValidationError

from neuraphage.client import Client
from neuraphage.dev.address import external_address
from neuraphage.dev.stack_file import settings_of_running_stack
from neuraphage.errors import SettingsError
from neuraphage.settings import Settings


def load_settings() -> Settings:
    """Settings of the environment.

    Raises:
        SettingsError: a NEURAPHAGE_* variable is out of its range, or two clash.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]  # only its message is shown: the input may hold a password
        name = "_".join(str(part) for part in first["loc"]).upper()
        message = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"NEURAPHAGE_{name}: {message}" if name else f"settings clash: {message}") from None


def connect() -> Client:
    """A client of the running stack, or of the servers that NEURAPHAGE_STATE_URL and NEURAPHAGE_BROKER_URL name.

    Raises:
        StackError: none is running and none is named.
        SettingsError: the settings clash.
    """
    settings = settings_of_running_stack(load_settings())
    named = os.environ.get("NEURAPHAGE_STATE_URL")
    if named and "NEURAPHAGE_BROKER_URL" not in os.environ:
        broker_url = external_address(named, None).broker_url
        settings = settings.model_copy(update={"broker_url": SecretStr(broker_url)})
    return Client(settings)

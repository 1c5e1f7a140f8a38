"""Settings for programs: loaded with one clear error, and shown with the origin of each value.

`Settings` itself reads the layers; here is what people need around it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr, ValidationError

from neuraphage.errors import SettingsError
from neuraphage.setting_sources import UserLayer, layers, variable
from neuraphage.settings import Settings

_LOGIN = re.compile(r"^(\w[\w+.-]*://[^:/@]*):.*@", re.DOTALL)
_PASSWORD_WORD = re.compile(r"([?&][^=&;]*(?:password|token|key)[^=&;]*=)[^&;]*", re.IGNORECASE)
_FIELD = re.compile("|".join(sorted(Settings.model_fields, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting, as people may see it.

    Args:
        name: as in a file.
        value: without passwords.
        origin: flag, environment, project file, user file or default.
        place: the flag, the variable or the file and line; empty for a default.
    """

    name: str
    value: str | int | float | bool | None
    origin: str
    place: str


def load(**flags: Any) -> Settings:
    """The settings of this process.

    Args:
        flags: values from the command line, by the name of the setting; the first of all layers.

    Raises:
        SettingsError: one line that says which value is wrong, where it comes from and what would be right.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        raise SettingsError(_first_complaint(error, flags)) from None


def load_or_exit() -> Settings:
    """As `load`, for the start of a Celery process: what is wrong is said in one line, with exit code 2."""
    try:
        return load()
    except SettingsError as error:
        sys.stderr.write(f"neuraphage: {error}\n")
        sys.exit(2)


def shown(settings: Settings, **flags: Any) -> list[ShownSetting]:
    """Every setting in the order of its definition.

    Args:
        settings: as loaded with these flags.
        flags: see `load`.
    """
    where = _Origins(flags)
    return [ShownSetting(name, _plain(getattr(settings, name)), *where.of(name)) for name in Settings.model_fields]


def server_variables(settings: Settings) -> dict[str, str]:
    """The servers that somebody named, in whatever layer, as variables; nothing for the local stack's own."""
    urls = {"state_url": settings.state_url, "broker_url": settings.broker_url}
    return {variable(name): url.get_secret_value() for name, url in urls.items() if name in settings.model_fields_set}


def masked_url(url: str) -> str:
    """A URL without its passwords, for people."""
    return _PASSWORD_WORD.sub(r"\1***", _LOGIN.sub(r"\1:***@", url))


class _Origins:
    """Where values come from, by the layers as they are now."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags
        self._environment, self._project, self._user = layers(Settings)
        self._variables = self._environment()

    def of(self, name: str) -> tuple[str, str]:
        """(layer, place in it) of a setting."""
        if name in self._flags:
            return "flag", f"--{name.replace('_', '-')}"
        if name in self._variables:
            return "environment", variable(name)
        files: tuple[tuple[str, UserLayer], ...] = (("project file", self._project), ("user file", self._user))
        for layer, file in files:
            if name in file.toml_data:
                return layer, file.place(name)
        return "default", ""


def _plain(value: Any) -> str | int | float | bool | None:
    if isinstance(value, SecretStr):
        return masked_url(value.get_secret_value())
    if isinstance(value, str):
        return masked_url(str(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _first_complaint(error: ValidationError, flags: dict[str, Any]) -> str:
    """One line about the first thing that is wrong; the input itself may hold a password and is not shown."""
    where = _Origins(flags)
    first, *others = error.errors(include_url=False, include_input=False)
    text = first["msg"].removeprefix("Value error, ")
    more = f" (and {len(others)} more)" if others else ""
    if first["loc"]:
        name = str(first["loc"][0])
        layer, place = where.of(name)
        subject = f"{place}: {name}" if layer.endswith("file") else place or name
        return f"{subject}: {text[:1].lower()}{text[1:]}{more}"
    named = dict.fromkeys(_FIELD.findall(text))
    origins = [f"{name} from {place}" for name in named if (place := where.of(name)[1])]
    return f"settings clash: {text}" + (f" ({', '.join(origins)})" if origins else "")

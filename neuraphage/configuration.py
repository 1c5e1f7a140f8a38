"""Settings for programs: loaded with one clear error, and shown with the origin of each value.

`Settings` itself reads the layers; here is what people need around it.
"""

from __future__ import annotations

import json
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
_OTHER_SERVER = {"state_url": "broker_url", "broker_url": "state_url"}
_OPTIONS = {"tools": "tool", "hooks": "hook"}
"""Options that are not called like their setting: one that is given again for each value."""
_FIELD = re.compile("|".join(sorted(Settings.model_fields, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting, as people may see it.

    Args:
        name: as in a file.
        value: without passwords.
        origin: flag, environment, project file, user file, derived, running stack or default.
        place: the flag, the variable, the file and line, or the setting that it is derived from; empty for a default.
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


def shown(settings: Settings, *, running: Settings | None = None, note: str = "", **flags: Any) -> list[ShownSetting]:
    """Every setting in the order of its definition.

    Args:
        settings: as loaded with these flags.
        running: those that reach the local stack; None when none runs, or none would be used.
        note: the file that says where the local stack is.
        flags: see `load`.
    """
    where = _Origins(flags)
    found = []
    for name in Settings.model_fields:
        value, used = getattr(settings, name), getattr(running or settings, name)
        origin = where.of(name) if used == value else ("running stack", note)
        found.append(ShownSetting(name, _plain(used), *origin))
    return found


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
        found = self._layer_of(name)
        other = _OTHER_SERVER.get(name)
        if found is None and other is not None and self._layer_of(other) is not None:
            return "derived", f"from {other}"
        return found or ("default", "")

    def _layer_of(self, name: str) -> tuple[str, str] | None:
        """The first layer that has it; None where nobody has set it."""
        if name in self._flags:
            return "flag", f"--{_OPTIONS.get(name, name.replace('_', '-'))}"
        if name in self._variables:
            return "environment", variable(name)
        files: tuple[tuple[str, UserLayer], ...] = (("project file", self._project), ("user file", self._user))
        return next(((layer, file.place(name)) for layer, file in files if name in file.toml_data), None)


def _table(value: dict[str, Any]) -> str:
    """A table of settings as a variable may hold it: that of tiers, or JSON."""
    if value and all(isinstance(ids, tuple) for ids in value.values()):
        return "; ".join(f"{name} = {', '.join(ids)}" for name, ids in value.items())
    return json.dumps(value) if value else ""


def _plain(value: Any) -> str | int | float | bool | None:
    if isinstance(value, SecretStr):
        secret = value.get_secret_value()
        return masked_url(secret) if "://" in secret else "***"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, dict):
        return _table(value)
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

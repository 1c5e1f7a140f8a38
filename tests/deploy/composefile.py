"""docker-compose.yml as Compose reads it: variables filled in, shared parts merged. Nothing of it is run here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})")
_UNIT_S = {"s": 1.0, "m": 60.0}


class MissingVariable(Exception):
    """A variable with `:?` has no value."""


@dataclass(frozen=True)
class Service:
    """One service.

    Args:
        name: of the service.
        command: program and arguments.
        env: what its container gets, beyond the environment of the image.
        check: its health check as program and arguments.
        raw: everything the file says of it.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    check: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False)


def read_compose(folder: Path) -> dict[str, Service]:
    """Read the file of a project folder, with the variables of its `.env`.

    Raises:
        MissingVariable: one that is needed has no value.
    """
    variables = read_env(folder / ".env")
    document = _filled(yaml.safe_load((folder / "docker-compose.yml").read_text(encoding="utf-8")), variables)
    return {name: _service(name, raw, folder) for name, raw in document["services"].items()}


def read_env(path: Path) -> dict[str, str]:
    """Read lines of NAME=value; a missing file has none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def seconds(text: str) -> float:
    """A duration as Compose writes it: `90s`, `2m`."""
    return float(text[:-1]) * _UNIT_S[text[-1]]


def _service(name: str, raw: Mapping[str, Any], folder: Path) -> Service:
    command = raw["command"]
    words = command.split() if isinstance(command, str) else command
    env: dict[str, str] = {}
    for file in raw.get("env_file", []):
        env |= read_env(folder / file["path"])
    env |= raw.get("environment", {})
    kind, *check = raw["healthcheck"]["test"]
    return Service(name, tuple(words), env, tuple(["sh", "-c", *check] if kind == "CMD-SHELL" else check), raw)


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(one, variables) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, variables) for one in value]
    return _VARIABLE.sub(lambda found: _value(found, variables), value) if isinstance(value, str) else value


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name, rule, rest = found.groups()
    if name is None:
        return "$"
    if variables.get(name):
        return variables[name]
    if rule == "?":
        raise MissingVariable(f"{name} {rest}")
    return rest or ""

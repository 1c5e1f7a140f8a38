"""Where settings come from: the environment and two files, each checked before it is believed.

| layer, the first one counts | who writes it |
| --- | --- |
| a flag of the command line | the person |
| `NEURAPHAGE_*` variables | the person, or their operator |
| `./neuraphage.toml` | whoever made this directory: a cloned repository may bring one |
| `neuraphage.toml` in the user's config folder | the person |

A project file may say which namespace and model a project uses, and lower the person's limits. It may not say where
servers, files and the model's API are: it could send the person's key and data to a stranger.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path
from pydantic import BaseModel, TypeAdapter, ValidationError

from neuraphage import own_secrets
from neuraphage.errors import SettingsError
from neuraphage.inside_command import MARK

PREFIX = "NEURAPHAGE_"
FILE_NAME = "neuraphage.toml"
MAX_FILE_BYTES = 1_000_000
PROJECT_KEYS = frozenset({"namespace", "default_model", "max_tokens", "max_continues", "max_empty_replies"})
"""What a project file may set."""
LOWER_ONLY_KEYS = frozenset({"max_turns", "max_cost_microusd"})
"""What a project file may make smaller than the person's own value: it spends their money."""
PROJECT_RULES_KEY = "rules"
"""What a project file may hold and no setting is made of: it holds once the person trusts it (project_rules.py)."""
OTHER_VARIABLES = frozenset({MARK, "NEURAPHAGE_FORCE_EMBEDDED", "NEURAPHAGE_PROTOCOL_EXAMPLES"})
"""Variables of that prefix that are no settings: of a command's task, of the search for a server program, of tests."""
_OF_KUBERNETES = re.compile(r"NEURAPHAGE_(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")
"""What Kubernetes puts into every container when a service is called neuraphage or neuraphage-something."""
_KEY_WORDS = ("api_key", "apikey", "auth_token")


def user_file() -> Path:
    """The person's own file, in the platform's config folder; a place where no file can be when nobody has a home."""
    try:
        return user_config_path("neuraphage") / FILE_NAME
    except RuntimeError:  # a user id without a name and without HOME, as containers have them
        return Path(os.devnull) / FILE_NAME


def project_file() -> Path:
    """The file of the current folder."""
    return Path(FILE_NAME)


class EnvironmentLayer:
    """`NEURAPHAGE_*` variables, in capitals or small letters; one that is no setting is an error. Empty ones count as
    not set.

    Args:
        settings_cls: the settings.
    """

    def __init__(self, settings_cls: type[BaseModel]) -> None:
        self._names = {variable(field): field for field in settings_cls.model_fields}

    def __call__(self) -> dict[str, Any]:
        """Values by the name of the setting.

        Raises:
            SettingsError: a variable is no setting; the message has the nearest name.
        """
        found = {}
        given = own_secrets.variables()
        for name in sorted(given):
            upper = name.upper()
            if not upper.startswith(PREFIX):
                continue
            if upper in self._names:
                if given[name]:
                    found[self._names[upper]] = given[name]
            elif upper not in OTHER_VARIABLES and not _OF_KUBERNETES.fullmatch(upper):
                short = [field.upper() for field in self._names.values()]
                raise SettingsError(
                    f"{name}: there is no such setting{_nearest(upper.removeprefix(PREFIX), short, PREFIX)}"
                )
        return found


class UserLayer:
    """A TOML file of settings, by their names; unknown ones are errors.

    Args:
        settings_cls: the settings.
        path: of the file, which need not be there.

    Raises:
        SettingsError: the file cannot be read, or is no TOML.
    """

    def __init__(self, settings_cls: type[BaseModel], path: Path) -> None:
        self.settings_cls = settings_cls
        self.path = path
        self.text = read_file(path)
        self.toml_data = read_toml(path, self.text)

    def __call__(self) -> dict[str, Any]:
        """Values by the name of the setting.

        Raises:
            SettingsError: the file sets what it may not; the message names the line.
        """
        for key, value in self.toml_data.items():
            reason = self.refusal(key, value)
            if reason:
                raise SettingsError(f"{self.place(key)}: {key}: {reason}")
        return dict(self.toml_data)

    def refusal(self, key: str, value: Any) -> str | None:
        """Why the file may not hold this, or None."""
        fields = self.settings_cls.model_fields
        if any(word in key.lower() for word in _KEY_WORDS):
            name = variable(key) if key in fields else "ANTHROPIC_API_KEY"
            return f"a file of settings holds no API key; set {name} in the environment"
        if key not in fields:
            if isinstance(value, dict):
                return f"there is no such table; write settings without one, as in lease_s = 20{_nearest(key, fields)}"
            return f"there is no such setting{_nearest(key, fields)}"
        if isinstance(value, bool) and fields[key].annotation is not bool:
            return "true and false are no value of it"
        if key == "data_dir" and isinstance(value, str) and not value.startswith(("/", "~")):
            return f"{value!r} would mean another folder in each directory; write an absolute path, or one with ~"
        return None

    def place(self, key: str) -> str:
        """Where the file sets a key, as path:line."""
        line = re.compile(rf"""\s*\[?\s*["']?{re.escape(key)}["']?\s*[\].=]""")
        found = [number for number, text in enumerate(self.text.splitlines(), start=1) if line.match(text)]
        return f"{self.path}:{found[0]}" if found else str(self.path)


class ProjectLayer(UserLayer):
    """The file of a project: it may set what cannot hurt the person who works in its folder.

    Args:
        settings_cls: the settings.
        path: of the file, which need not be there.
        limits: what the person's own file sets.
    """

    def __init__(self, settings_cls: type[BaseModel], path: Path, limits: Mapping[str, Any]) -> None:
        self._limits = limits
        super().__init__(settings_cls, path)
        self.toml_data.pop(PROJECT_RULES_KEY, None)

    def refusal(self, key: str, value: Any) -> str | None:
        """Why the file may not hold this, or None."""
        known = key in self.settings_cls.model_fields
        if known and key not in PROJECT_KEYS | LOWER_ONLY_KEYS:
            return (
                "a project's file may not set this, since a cloned project could then reach your keys, files or tasks;"
                f" set {variable(key)} or write it into {user_file()}"
            )
        reason = super().refusal(key, value)
        if reason is not None or key in PROJECT_KEYS:
            return reason
        if not isinstance(value, int):  # a text would be read as a number later, and pass by the comparison
            return f"a whole number is wanted, without quotes, and this is {value!r}"
        own = _whole_number(self._limits.get(key, self.settings_cls.model_fields[key].default))
        if own is None:
            return f"a project's file may only lower this, and your own value in {user_file()} is no whole number"
        if value > own:
            return f"a project's file may only lower this, and {value} is above your {own}; raise it in {user_file()}"
        return None


def layers(settings_cls: type[BaseModel]) -> tuple[EnvironmentLayer, ProjectLayer, UserLayer]:
    """Environment and files as they are now, the first one counts.

    Raises:
        SettingsError: a file cannot be read.
    """
    user = UserLayer(settings_cls, user_file())
    return EnvironmentLayer(settings_cls), ProjectLayer(settings_cls, project_file(), user.toml_data), user


def variable(field: str) -> str:
    """Name of the environment variable of a setting."""
    return PREFIX + field.upper()


def _whole_number(value: Any) -> int | None:
    """A value as the settings will read it, which take a number in quotes too; None when they will refuse it."""
    try:
        return TypeAdapter(int).validate_python(value)
    except ValidationError:
        return None


def _nearest(name: str, names: Iterable[str], prefix: str = "") -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {prefix}{near[0]}?" if near else "; `neuraphage config keys` lists all"


def read_toml(path: Path, text: str) -> dict[str, Any]:
    """What a text of TOML holds.

    Raises:
        SettingsError: it is none, or nested or numbered beyond what can be read.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: this is no TOML: {error}") from None


def read_file(path: Path) -> str:
    """The text of a file; empty when there is none.

    Raises:
        SettingsError: it is no plain file of UTF-8 text, or may not be read.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:  # a pipe waits
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{path}: this is no plain file; settings are read from it: move it away")
            content = file.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except IsADirectoryError:
        raise SettingsError(
            f"{path}: this is a folder; settings are read from a file of that name: rename it"
        ) from None
    except OSError as error:
        raise SettingsError(
            f"{path}: settings cannot be read from it ({error.strerror}); give yourself the right to, or move it away"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"{path}: a file of settings has at most {MAX_FILE_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")  # editors of Windows put a mark at the beginning
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path}:{line}: this is no UTF-8 text; write it in UTF-8") from None

"""Where the local stack of a data folder is, for commands and clients: one private file in that folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from neuraphage.errors import StackError
from neuraphage.private_files import complaint_about, make_private
from neuraphage.settings import Settings

FILE_NAME = "stack.json"


class Address(Protocol):
    """Where the servers of a stack are."""

    @property
    def state_url(self) -> str:
        """The state server, with its password."""
        ...

    @property
    def broker_url(self) -> str:
        """The broker, with its password."""
        ...


def write(
    data_dir: Path,
    address: Address,
    namespace: str,
    default_model: str,
    script: str | None = None,
    tools: Sequence[str] = (),
    base_url: str | None = None,
    prices: Sequence[str] = (),
    hooks: Sequence[str] = (),
) -> Path:
    """Note where the stack is, which script it plays in place of the real model, and which tools it was told of.

    Also where its models of the form openai:NAME are, and what its settings say of prices and hooks.

    The file holds the server's password, so it is private (0600).
    """
    path = data_dir / FILE_NAME
    fields = {
        "state_url": address.state_url,
        "broker_url": address.broker_url,
        "namespace": namespace,
        "default_model": default_model,
        "script": script,
        "tools": list(tools),
        "openai_base_url": base_url,
        "prices": list(prices),
        "hooks": list(hooks),
    }
    path.with_suffix(".new").unlink(missing_ok=True)  # one that a kill has left
    with os.fdopen(make_private(path.with_suffix(".new"), os.O_WRONLY), "w", encoding="utf-8") as file:
        json.dump(fields, file)
    path.with_suffix(".new").replace(path)
    return path


def note_path(data_dir: Path) -> Path:
    """The file that says where the stack of this folder is."""
    return data_dir / FILE_NAME


def exists(data_dir: Path) -> bool:
    """Whether a stack of this folder says that it is up."""
    return (data_dir / FILE_NAME).exists()


def script_of_running_stack(data_dir: Path) -> str | None:
    """Which script the running stack plays; None when it calls the real model, or none runs."""
    script = _noted(data_dir, "script")
    return script if isinstance(script, str) else None


def tools_of_running_stack(data_dir: Path) -> frozenset[str]:
    """Which tools the running stack was told of (setting `tools`)."""
    return _noted_texts(data_dir, "tools")


def hooks_of_running_stack(data_dir: Path) -> frozenset[str]:
    """Which hooks the running stack was told of (setting `hooks`)."""
    return _noted_texts(data_dir, "hooks")


def prices_of_running_stack(data_dir: Path) -> frozenset[str]:
    """Which prices the running stack was told of (setting `prices`)."""
    return _noted_texts(data_dir, "prices")


def base_url_of_running_stack(data_dir: Path) -> str | None:
    """Where models of the form openai:NAME are for the running stack (setting `openai_base_url`)."""
    url = _noted(data_dir, "openai_base_url")
    return url if isinstance(url, str) else None


def _noted_texts(data_dir: Path, name: str) -> frozenset[str]:
    found = _noted(data_dir, name)
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()


def _noted(data_dir: Path, name: str) -> object:
    try:
        found: object = json.loads((data_dir / FILE_NAME).read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return found


def remove(data_dir: Path) -> None:
    """Forget the stack."""
    (data_dir / FILE_NAME).unlink(missing_ok=True)


def settings_of_running_stack(settings: Settings) -> Settings:
    """Settings that reach the stack of the data folder, and its prices; servers that somebody named come first.

    Raises:
        StackError: neither is there.
    """
    if settings.names_servers:
        return settings
    path = settings.data_dir / FILE_NAME
    _refuse_foreign(path)
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return settings.model_copy(
            update={
                "state_url": SecretStr(_text(fields["state_url"])),
                "broker_url": SecretStr(_text(fields["broker_url"])),
                "namespace": _text(fields["namespace"]),
                **({"default_model": _text(fields["default_model"])} if fields.get("script") else {}),
                **({"prices": tuple(map(_text, fields["prices"]))} if "prices" in fields else {}),
            }
        )
    except FileNotFoundError:
        raise StackError(
            f"no stack is running for {settings.data_dir}: start one with `neuraphage dev` in another terminal, "
            "or set NEURAPHAGE_STATE_URL and NEURAPHAGE_BROKER_URL"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:  # whatever JSON it may hold
        raise StackError(f"{path} cannot be read ({error}); stop the stack and start it again") from None


def _refuse_foreign(path: Path) -> None:
    """Whoever writes this file is sent every prompt, and the password of no other server."""
    try:
        complaint = complaint_about(path.parent.resolve()) or complaint_about(path)
    except OSError:  # there is none, as reading it will show
        return
    if complaint is not None:
        raise StackError(f"the stack of {path.parent} is not believed: {complaint}, or choose another data folder")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it holds something else than text")
    return value

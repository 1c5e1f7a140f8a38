"""`celery neuraphage`: which `workers` package Celery finds here, and the one clear line when it is a foreign one.

Celery loads this module at each of its starts (entry point `celery.commands`), before it looks for the app. So
someone who types `celery -A workers.app worker -Q np.run` in a folder with a `workers` of its own is told what is
wrong, instead of starting that one, or reading that a module was not found.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from neuraphage.celery_app import PACKAGE, find_workers, is_ours
from neuraphage.errors import StackError
from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE

OUR_APP = f"{PACKAGE}.app"
OUR_LONG_APP = "neuraphage.celery_app"


def found_here(path: Sequence[str], folder: Path) -> Path | None:
    """Find the `workers` package that Celery would load, as it looks: the current folder first.

    Args:
        path: of this process (sys.path).
        folder: the current folder.

    Returns:
        Its `__init__.py`, the folder of a package without one, or `workers.py`; None when there is none.
    """
    for entry in (folder, *(Path(part) for part in path if part)):
        for candidate in (entry / PACKAGE / "__init__.py", entry / f"{PACKAGE}.py"):
            if candidate.is_file():
                return candidate
    spaces = (Path(part or folder) / PACKAGE for part in (str(folder), *path))
    return next((space for space in spaces if space.is_dir()), None)


def complaint(argv: Sequence[str], path: Sequence[str], folder: Path) -> str | None:
    """Say what is wrong with a call of Celery that means our app and would load another one.

    Args:
        argv: of the process.
        path: of the process (sys.path).
        folder: the current folder.

    Returns:
        None when nothing is wrong, or when the call may well mean a foreign app.
    """
    if OUR_APP not in _apps_of_ours(argv):
        return None
    found = found_here(path, folder)
    if found is None or _is_installed_one(found):
        return None
    base = found.parent if found.name == "__init__.py" else found
    queues = {name for word in argv for name in word.removeprefix("--queues=").removeprefix("-Q").split(",")}
    calls_itself_ours = found.is_file() and is_ours(found)
    means_ours = calls_itself_ours or bool(queues & {RUN_QUEUE, CONTROL_QUEUE}) or not (base / "app.py").is_file()
    if not means_ours:
        return None
    whose = (
        "another neuraphage than the one that runs" if calls_itself_ours else "not neuraphage's package of that name"
    )
    return (
        f"-A {OUR_APP} finds {found}, which is {whose};"
        " write -A neuraphage.celery_app, which finds the right one in every folder"
    )


def _is_installed_one(found: Path) -> bool:
    """Whether this is our package where it was installed: words in a file prove nothing."""
    try:
        return found.samefile(find_workers())
    except (OSError, StackError):  # the call itself tells what is wrong with it
        return False


def broker_complaint(argv: Sequence[str], path: Sequence[str], folder: Path) -> str | None:
    """Say that a call of our app names a broker by an option, which would count for this process alone.

    Args:
        argv: of the process.
        path: of the process (sys.path).
        folder: the current folder.

    Returns:
        None when it names none, or means a foreign app.
    """
    apps = _apps_of_ours(argv)
    names_one = any(word.startswith("--broker") or (word.startswith("-b") and word[:2] != "--") for word in argv)
    if not apps or not names_one:
        return None
    found = found_here(path, folder)
    if OUR_LONG_APP not in apps and (found is None or not _is_installed_one(found)):
        return None
    return "-b: the broker is that of NEURAPHAGE_BROKER_URL, for every process and command; leave the option out"


def _apps_of_ours(argv: Sequence[str]) -> set[str]:
    named = {word.removeprefix("--app=").removeprefix("-A").partition(":")[0] for word in argv}
    return named & {OUR_APP, OUR_LONG_APP}


def _current_folder() -> Path:
    """The current folder; the root when it is gone, which hides nothing."""
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


@click.command("neuraphage")
def command() -> None:
    """Say which workers package -A workers.app loads here."""
    found = found_here(sys.path, _current_folder())
    whose = "none" if found is None else "neuraphage's" if _is_installed_one(found) else "not neuraphage's"
    click.echo(f"{found or PACKAGE}: {whose}; -A neuraphage.celery_app finds ours in every folder")


if _apps_of_ours(sys.argv):
    # `celery multi` and `--detach` start Pythons that would import from the current folder before all else.
    os.environ["PYTHONSAFEPATH"] = "1"
_wrong = complaint(sys.argv, sys.path, _current_folder()) or broker_complaint(sys.argv, sys.path, _current_folder())
if _wrong is not None:
    sys.exit(f"neuraphage: {_wrong}")

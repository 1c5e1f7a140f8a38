"""Remove what neuraphage keeps on this host: only from a folder that it made, and only while nobody uses that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from neuraphage.data_folder import MARK, KeptItem, is_ours, kept_in, size_bytes
from neuraphage.dev.folder_users import users_of
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.dev.stack_use import no_users
from neuraphage.errors import BadInput, StackError
from neuraphage.settings import Settings


@contextmanager
def unused_folder(settings: Settings) -> Iterator[list[KeptItem]]:
    """Hold the data folder, so that no stack starts in it, and tell what would be removed from it.

    Raises:
        BadInput: neuraphage has not made the folder.
        StackError: something uses it.
    """
    folder = settings.data_dir
    if not is_ours(folder):
        kept = ", ".join(str(thing.path) for thing in kept_in(folder)) or "nothing"
        raise BadInput(
            f"{folder} was not made by neuraphage (it has no {MARK} in it), so nothing of it is removed;"
            f" by hand you may remove what neuraphage keeps there: {kept}"
        )
    files = open_files(folder)
    with take_lock(files), no_users(folder) as unused:
        users = [*users_of(settings, files), *([] if unused else ["a `neuraphage run` waits for its stack; stop that"])]
        if users:
            raise StackError(f"{folder} is in use: {'; '.join(users)}")
        run_folder = files.socket_path.parent
        elsewhere = [KeptItem(run_folder, "socket of the local stack", size_bytes(run_folder))]
        yield [*kept_in(folder), *(elsewhere if run_folder != files.folder else [])]


def remove(settings: Settings, kept: list[KeptItem]) -> list[str]:
    """Remove things that `unused_folder` told of, and the data folder if nothing else is in it.

    Returns:
        Names of what is left in the folder: it is not neuraphage's.

    Raises:
        OSError: something cannot be removed; what was removed before is gone.
    """
    for thing in kept:
        if thing.path.is_dir():
            shutil.rmtree(thing.path)
        else:
            thing.path.unlink(missing_ok=True)
    folder = settings.data_dir
    left = sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted
    if left == [MARK]:
        (folder / MARK).unlink()
        folder.rmdir()
        return []
    return [name for name in left if name != MARK]

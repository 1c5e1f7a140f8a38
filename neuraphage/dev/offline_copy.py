"""Read what a stopped stack has left: a temporary server on a copy of its files.

The copy makes it safe beside a stack that starts, runs or ends meanwhile: nothing of the data folder is written or
locked. What the server appends to is copied, the large base of it is only linked to. On Linux the server is killed
when this process ends, however that ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from neuraphage.data_folder import SERVER
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stopped_stack import FOLDER, MANIFEST, source_folder
from neuraphage.errors import StackError
from neuraphage.settings import Settings

TRIES = 5
"""A server that rewrites its file meanwhile takes old ones away, once in a long while."""


@contextmanager
def settings_of_copy(settings: Settings) -> Iterator[Settings]:
    """Settings that reach a server with the data of the last local stack, for as long as this is entered.

    Args:
        settings: name the data folder.

    Raises:
        StackError: no program of a server was found, or it could not read the data.
    """
    with tempfile.TemporaryDirectory(prefix="neuraphage-read-") as name:
        data_dir = Path(name).resolve()
        _copy(source_folder(settings.data_dir), data_dir / SERVER / FOLDER)
        with EmbeddedServer(data_dir, fsync="everysec", is_tied=True) as server:
            urls = {"state_url": server.address.state_url, "broker_url": server.address.broker_url}
            yield settings.model_copy(update={name: SecretStr(url) for name, url in urls.items()})


def _copy(source: Path, target: Path) -> None:
    for _ in range(TRIES):
        target.mkdir(parents=True, mode=0o700)
        try:
            manifest = (source / MANIFEST).read_text(encoding="utf-8")
            for line in manifest.splitlines():
                _take(source, target, line.split())
            (target / MANIFEST).write_text(manifest, encoding="utf-8")
        except FileNotFoundError:
            shutil.rmtree(target)
            continue
        return
    raise StackError(f"read {source}: its files change all the time; try again, or start `neuraphage dev`")


def _take(source: Path, target: Path, words: list[str]) -> None:
    """Take over one file: `file NAME seq N type T`, b for the base, which nobody changes, i for what is appended to."""
    found = dict(zip(words[::2], words[1::2], strict=False))
    name, kind = Path(found.get("file", "")).name, found.get("type")
    if not name:
        return
    if kind == "b":
        (source / name).stat()
        (target / name).symlink_to(source / name)
    elif kind == "i":
        shutil.copyfile(source / name, target / name)

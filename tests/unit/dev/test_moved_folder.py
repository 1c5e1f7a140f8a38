"""One data folder under several names: a server left over in it is found all the same, and is nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_probe import find_process

pytestmark = pytest.mark.real_redis


def left_over(data_dir: Path) -> int:
    """Start a server, and leave it as a killed launcher does."""
    server = EmbeddedServer(data_dir)
    server.start()
    server.release()
    assert server.pid is not None
    return server.pid


def a_link(folder: Path) -> Path:
    """Another name of the folder."""
    link = folder.parent / "link"
    link.symlink_to(folder)
    return link


def a_move(folder: Path) -> Path:
    """The folder has another name."""
    return folder.rename(folder.parent / "moved")


@pytest.mark.parametrize("rename", [a_link, a_move])
def test_a_left_over_is_adopted_under_another_name(data_dir: Path, rename: Callable[[Path], Path]) -> None:
    """A second server would write into the same append-only file and ruin it."""
    pid = left_over(data_dir)
    with EmbeddedServer(rename(data_dir)) as server:
        assert server.pid == pid


def test_a_server_that_moved_away_with_its_folder_is_left_alone(
    data_dir: Path, hasty_server: type[EmbeddedServer]
) -> None:
    """Its command line names a folder in whose place there is another one now."""
    pid = left_over(data_dir)
    moved = a_move(data_dir)
    with hasty_server(data_dir) as server:
        assert server.pid not in (None, pid)
        found = find_process(moved / "server" / "server.conf")
        assert found is not None
        assert found.pid == pid


def test_a_server_whose_folder_was_removed_is_ended(data_dir: Path, hasty_server: type[EmbeddedServer]) -> None:
    """It would keep its port and its memory for ever."""
    pid = left_over(data_dir)
    data_dir.rename(data_dir.parent / "gone")
    (data_dir.parent / "gone" / "server" / "server.conf").unlink()
    with hasty_server(data_dir) as server:
        assert server.pid not in (None, pid)
        assert find_process(data_dir / "server" / "server.conf").pid == server.pid  # type: ignore[union-attr]

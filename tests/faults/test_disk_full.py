"""No room on the server's disk: it refuses or ends; nothing acknowledged is lost, nothing runs unmarked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import FaultServer
from fault_world import World, stamps
from small_disk import FileSizeLimit, SmallDisk, Tmpfs

from neuraphage.dev.exit_cause import cause_of_exit, read_tail
from turnkit import until

pytestmark = pytest.mark.real_redis


@pytest.fixture(params=["tmpfs", "file size limit"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SmallDisk, Path]]:
    """A disk that can be filled, and a folder on it."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        if request.param == "file size limit":
            yield FileSizeLimit(monkeypatch), Path(folder)
            return
        with Tmpfs.mounted(Path(folder)) as mounted:
            if not mounted:
                pytest.skip("no tmpfs may be mounted here; the limit on file sizes stands in for it")
            yield Tmpfs(Path(folder)), Path(folder)


@pytest.mark.parametrize("fsync", ["always", "everysec"])
def test_a_full_disk_stops_everything_and_loses_nothing(
    disk: tuple[SmallDisk, Path], tmp_path: Path, fsync: str
) -> None:
    """`always`: the server ends rather than acknowledge; `everysec`: it answers MISCONF. With room all goes on."""
    filled, folder = disk
    server = filled.start(folder, fsync)  # type: ignore[arg-type]  # a parameter is any string to mypy
    try:
        with World(server, tmp_path) as world:
            tasks = [world.submit(stamps(4, first_byte_delay_s=0.05)) for _ in range(4)]
            world.start()
            until(lambda: len(world.stamp.runs()) > 2)
            filled.fill(server)
            if fsync == "always":
                server.wait_gone()
                assert cause_of_exit(read_tail(server.files.log)) == "disk full"
            else:
                until(lambda: misconf(server))
            running = len(world.stamp.runs())
            assert running < 16
            filled.free(server)
            server.start()
            until(lambda: len(world.stamp.runs()) > running)
            world.finished(tasks)
            world.check(tasks)
    finally:
        server.close()


def misconf(server: FaultServer) -> bool:
    """Whether the server refuses writes because of its disk."""
    try:
        server.admin.set("probe", 1, px=1)
    except Exception as error:
        return "MISCONF" in str(error)
    return False

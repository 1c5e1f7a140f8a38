"""Fixtures for suites that use neuraphage; loaded by pytest's entry point, so everything heavy is loaded late."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from neuraphage.dev.address import ServerAddress
    from neuraphage.store.tasks import RedisStore
    from neuraphage.testing.clock import ManualClock
    from neuraphage.testing.run_turns import RunTurns
    from neuraphage.testing.scripted_api import ScriptedServer


@pytest.fixture
def manual_clock() -> ManualClock:
    """A clock that stands still until the test moves it."""
    from neuraphage.testing.clock import ManualClock  # noqa: PLC0415 - loaded late on purpose

    return ManualClock()


@pytest.fixture
def fake_store(manual_clock: ManualClock) -> RedisStore:
    """The real store on an empty fake server; its local time is `manual_clock`."""
    from neuraphage.testing.store import fake_store as make  # noqa: PLC0415 - loaded late on purpose

    return make(clock=manual_clock)


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """A scripted Messages API in a thread, with the script `echo`; others are given to ScriptedServer itself."""
    from neuraphage.testing.scripted_api import ScriptedServer  # noqa: PLC0415 - loaded late on purpose

    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def neuraphage_server() -> Iterator[ServerAddress]:
    """An embedded server of this test session, with a short path; it ends with the session."""
    from neuraphage.dev.server import EmbeddedServer  # noqa: PLC0415 - loaded late on purpose

    with (
        tempfile.TemporaryDirectory(prefix="np-") as folder,
        EmbeddedServer(Path(folder), fsync="everysec", is_tied=True) as server,
    ):
        yield server.address


@pytest.fixture
def run_turns(neuraphage_server: ServerAddress, tmp_path: Path) -> RunTurns:
    """Runs tasks with tools of the test on a real server, and kills their workers where the test wants it."""
    from neuraphage.testing.run_turns import RunTurns  # noqa: PLC0415 - loaded late on purpose

    folder = tmp_path / "neuraphage"
    folder.mkdir()
    return RunTurns(neuraphage_server, folder)

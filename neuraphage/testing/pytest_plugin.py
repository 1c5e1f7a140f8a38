"""Fixtures for suites that use neuraphage; loaded by pytest's entry point, so everything heavy is loaded late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from neuraphage.store.tasks import RedisStore
    from neuraphage.testing.clock import ManualClock
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

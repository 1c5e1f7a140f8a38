"""The real store on a fake server inside this process: real scripts, no daemon."""

from __future__ import annotations

from importlib import import_module

from neuraphage.ports import Clock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.clock import ManualClock


def fake_store(settings: Settings | None = None, clock: Clock | None = None) -> RedisStore:
    """A store on an empty fake server of its own.

    The fake has real time and no disk: what must hold after a kill of the server is tested on a real one.

    Args:
        settings: namespace, limits and times; the defaults when not given. `state_url` is not used.
        clock: local time; a ManualClock when not given.

    Raises:
        ImportError: fakeredis (with Lua) is not installed.
    """
    try:
        import fakeredis  # noqa: PLC0415 - a test-only package: needed by this function alone

        import_module("lupa")  # the Lua of fakeredis[lua]; without it every script fails obscurely
    except ImportError as error:
        raise ImportError(
            f"fake_store needs fakeredis with Lua ({error}); install it with: pip install 'fakeredis[lua]'"
        ) from error
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    return RedisStore(settings or Settings(), clock or ManualClock(), client=client)

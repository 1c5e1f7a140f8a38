"""What the scripts send, as the server sees it, is what they ask for before they begin (real server only)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase as fnmatch
from typing import Any

import pytest

from neuraphage.store.uses import uses
from storekit import StoreKit
from writekit import ALL_WRITES, Write, extent, pattern

pytestmark = pytest.mark.real_redis


@pytest.mark.parametrize("writes", ALL_WRITES, ids=lambda make: make.__name__)
def test_a_script_sends_what_it_asks_for(
    real_kit: StoreKit, writes: Callable[[StoreKit], Iterator[tuple[str, Write]]]
) -> None:
    """As the server sees it, command by command and key by key: a user may be allowed a command on some keys alone."""
    calls = [(name, write) for name, write in writes(real_kit) if name not in ("renew", "delete", "create")]
    with real_kit.client.monitor() as monitor:
        for name, write in calls:
            write()
            real_kit.client.echo(name)
        for name, _ in calls:
            sent = sent_by_scripts(monitor, name)
            asked = {(command, pattern(real_kit, key)) for command, key in uses(extent(name))}
            sent = {(c, key) for c, key in sent if ":archive:" not in key}  # its name is made by the script
            missing = {(c, key) for c, key in sent if not any(c == a and fnmatch(key, glob) for a, glob in asked)}
            assert sent
            assert missing == set(), name


def sent_by_scripts(monitor: Any, until: str) -> set[tuple[str, str]]:
    """Commands of scripts with their keys, up to an ECHO."""
    sent = set()
    for row in monitor.listen():
        command, *rest = row["command"].split(" ")
        if row["client_type"] == "lua":
            sent.add((command.upper(), rest[0] if rest else ""))
        elif row["command"] == f"ECHO {until}":
            return sent
    raise AssertionError("the monitor ended")

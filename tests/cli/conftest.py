"""The command line in this process, on a server of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from clikit import Bench, CommandLine
from neuraphage.client import Client
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from servers import ValkeyProcess
from storefixtures import valkey
from storekit import StoreKit

__all__ = ["valkey"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting, file or key of the person who runs the tests; an empty data folder."""
    for name in [n for n in os.environ if n.startswith(("NEURAPHAGE_", "ANTHROPIC_", "OPENAI_", "AWS_", "CLOUD_ML_"))]:
        monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.fixture
def bench(valkey: ValkeyProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A client on a fresh real server; the command line finds the same one."""
    admin = valkey.client()
    admin.flushall()
    admin.close()
    urls = {
        "state_url": f"unix://{valkey.socket}?db=1",
        "broker_url": f"redis+socket://{valkey.socket}?virtual_host=0",
    }
    for name, url in urls.items():
        monkeypatch.setenv(f"NEURAPHAGE_{name.upper()}", url)
    settings = Settings(
        state_url=SecretStr(urls["state_url"]), broker_url=SecretStr(urls["broker_url"]), max_inbox_items=4
    )
    kit = StoreKit(RedisStore(settings, SystemClock()))
    with Client(settings) as client:
        yield Bench(client, kit)
    kit.check()
    kit.client.close()

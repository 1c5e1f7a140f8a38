"""Data that the embedded server refuses: each case is told apart, and what is advised helps and destroys nothing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import redis

from neuraphage.dev.server import EmbeddedServer
from neuraphage.errors import StackError
from patience import PATIENCE_S

pytestmark = pytest.mark.real_redis


def file_of(data_dir: Path, kind: str) -> Path:
    """One key in a fresh server; then its base or incr file."""
    with EmbeddedServer(data_dir) as server:
        redis.from_url(server.address.state_url).set("k", "v")
    (path,) = (data_dir / "server" / "appendonlydir").glob(f"*.{kind}.*")
    return path


def refusal(data_dir: Path) -> str:
    """What a start says."""
    with pytest.raises(StackError) as caught:
        EmbeddedServer(data_dir).start()
    return str(caught.value)


def test_the_advised_command_repairs_a_damaged_file(data_dir: Path) -> None:
    """Nothing is repaired behind the user's back. The extra has no checker, but its server is one by another name."""
    path = file_of(data_dir, "incr")
    path.write_bytes(path.read_bytes() + b"GARBAGE\r\n" * 3)
    said = refusal(data_dir)
    assert "append-only file is damaged; copy the folder appendonlydir" in said
    assert path.name in said
    assert refusal(data_dir).startswith(said.split(" Log ")[0])
    advised = re.search(r"\(exec -a .*? --fix FILE\)", said)
    assert advised is not None
    command = advised[0].replace("FILE", path.name)
    subprocess.run(
        ["/bin/bash", "-c", command], cwd=path.parent, input="y\n", text=True, check=True, timeout=PATIENCE_S
    )
    with EmbeddedServer(data_dir) as server:
        assert redis.from_url(server.address.state_url).get("k") == b"v"


@pytest.mark.parametrize("begin", [b"VALKEY999", b"REDIS9999"])
def test_data_of_another_server_is_not_taken_for_damaged(data_dir: Path, begin: bytes) -> None:
    """A repair would cut it to nothing."""
    path = file_of(data_dir, "base")
    path.write_bytes(begin + path.read_bytes()[len(begin) :])
    said = refusal(data_dir)
    assert "data of another server; a newer release than this one wrote it" in said
    assert "repair nothing" in said
    assert "--fix FILE" not in said


def test_a_damaged_base_has_no_remedy_but_a_backup(data_dir: Path) -> None:
    """It is told so."""
    path = file_of(data_dir, "base")
    path.write_bytes(path.read_bytes()[:-20])
    assert "base of the append-only file is damaged; it cannot be repaired; put a backup" in refusal(data_dir)

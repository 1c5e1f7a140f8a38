"""Small files of the data folder that a power cut or somebody's editor has damaged: made anew, or told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.dev.server_config import PORTS, keep_password, keep_port
from neuraphage.dev.server_files import keep_secret, open_files
from neuraphage.errors import StackError
from neuraphage.settings import Settings
from neuraphage.stack_note import FILE_NAME, script_of_running_stack, settings_of_running_stack

DAMAGED = [b"", b"\0" * 43, b"\xff\xfe", "p\u00e4ss".encode(), b"9" * 5_000, b"65536", b"-1", b"1 2"]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_port_is_chosen_anew(data_dir: Path, content: bytes) -> None:
    """What is no port is no reason to fail."""
    files = open_files(data_dir)
    (files.folder / "port").write_bytes(content)
    assert keep_port(files) in PORTS


@pytest.mark.parametrize("content", DAMAGED[:4])
def test_a_password_is_made_anew(data_dir: Path, content: bytes) -> None:
    """It goes into a configuration and into URLs; a whole one is kept."""
    files = open_files(data_dir)
    (files.folder / "password").write_bytes(content)
    made = keep_password(files)
    assert len(made) > 30
    assert made.isascii()
    assert keep_secret(files.folder / "password") == made


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"7",
        b"{}",
        b"[" * 100_000,
        b"\xff",
        b'{"state_url": 1, "broker_url": 2, "namespace": 3}',
    ],
)
def test_a_note_that_cannot_be_read_is_named(data_dir: Path, content: bytes) -> None:
    """With what to do."""
    data_dir.mkdir()
    (data_dir / FILE_NAME).write_bytes(content)
    with pytest.raises(StackError, match=r"stack\.json cannot be read \(.*stop the stack and start it again"):
        settings_of_running_stack(Settings(data_dir=data_dir))
    assert script_of_running_stack(data_dir) is None

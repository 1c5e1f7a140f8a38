"""`--dir` of `/`, a home or the data folder is refused, unless a person says that it is meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from apikit import ApiBench
from clikit import run_process
from neuraphage.api import Api
from neuraphage.errors import BadInput
from neuraphage.local_files import LocalFiles


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with a project, the data folder, and a link to the home."""
    for name in ("me/project", "me/data/spool"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("me")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path / "me"))
        yield tmp_path / "me"


def environ(home: Path) -> dict[str, str]:
    """Of a command: no server answers at this address."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURAPHAGE_", "ANTHROPIC_"))}
    servers = {f"NEURAPHAGE_{kind}_URL": f"redis://127.0.0.1:1/{n}" for n, kind in enumerate(("BROKER", "STATE"))}
    return kept | servers | {"HOME": str(home), "NEURAPHAGE_DATA_DIR": str(home / "data")}


@pytest.mark.parametrize("command", ["submit", "run"])
@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("/", "root of the file system"),
        ("me", "is a home folder"),
        ("link", "is a home folder"),
        (".", "holds home folders"),
        ("me/data", "is the data folder"),
        ("me/data/spool", "lies in the data folder"),
    ],
)
def test_a_command_refuses_it(home: Path, command: str, folder: str, words: str) -> None:
    """A wrong call, said in one line that names the way out; nothing was asked of a server before."""
    ran = run_process(command, "do it", "--dir", str(home.parent / folder), env=environ(home))
    assert ran.code == 2, ran.err
    assert words in ran.err
    assert "--force" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [("--dir", "/", "--force"), ("--dir", "{home}/project")])
def test_a_command_takes_it(home: Path, arguments: tuple[str, ...]) -> None:
    """With --force, or a project's own folder: it fails only where the server does not answer."""
    ran = run_process("submit", "do it", *(word.format(home=home) for word in arguments), env=environ(home))
    assert ran.code == 1, ran.err
    assert "folder" not in ran.err


def test_a_client_refuses_it_likewise() -> None:
    """The rule is the service's, so every surface has it."""
    bench = ApiBench()
    bench.files.wide = "is too wide"
    with Api(bench.ports) as api:
        with pytest.raises(BadInput, match=r"the working directory /x is too wide.*force=True"):
            api.submit("do it", working_dir="/x", model="m")
        assert api.submit("do it", working_dir="/x", model="m", force=True)
        assert api.submit("do it", model="m"), "a task without a directory"


def test_a_home_of_this_machine_counts_without_the_variable(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever clears HOME has a home all the same."""
    monkeypatch.delenv("HOME")
    import pwd

    own = pwd.getpwuid(os.geteuid()).pw_dir
    assert (LocalFiles().too_wide(own, home / "data") is not None) == (own.startswith("/") and Path(own).is_absolute())
    assert LocalFiles().too_wide(str(tmp_path / "me" / "project"), home / "data") is None

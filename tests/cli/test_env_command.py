"""`env`: what leads celery and others to the stack that commands use."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from clikit import CommandLine
from neuraphage import stack_note
from neuraphage.cli.env_command import Shell, exported
from neuraphage.configuration import load
from neuraphage.dev.address import embedded_address

PASSWORD = 'it\'s a "pass" $word\\ `x`'
ODD = "a'b\"c $HOME \\ `id` \n d;e&f"


@pytest.fixture
def noted() -> str:
    """A stack that says where it is; gives its state URL."""
    data_dir = load().data_dir
    data_dir.mkdir(mode=0o700)
    address = embedded_address(PASSWORD, data_dir / "s", 20_000)
    stack_note.write(data_dir, address, "two", "m")
    return address.state_url


def test_exports_of_the_running_stack(cli: CommandLine, noted: str) -> None:
    """A shell that evaluates them has the very URLs, with their passwords, the namespace and the folder."""
    wanted = cli("env", "--json").json
    assert wanted["NEURAPHAGE_STATE_URL"] == noted
    assert wanted["NEURAPHAGE_NAMESPACE"] == "two"
    program = f"{cli('env').out}\npython3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    found = json.loads(subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True).stdout)
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("shell", Shell)
def test_no_character_leaves_its_quotes(shell: Shell) -> None:
    """Whatever a value holds, it is one value and nothing of it is run."""
    program = shutil.which(shell.value)
    if program is None:
        assert exported("X", ODD, Shell.FISH) == "set -gx X 'a\\'b\"c $HOME \\\\ `id` \n d;e&f'"
        return
    said = subprocess.run(
        [program, "-c", f"{exported('X', ODD, shell)}\nprintenv X"], capture_output=True, text=True, check=True
    )
    assert said.stdout == ODD + "\n"


def test_no_stack(cli: CommandLine) -> None:
    """Nothing is printed that a shell would take over."""
    ran = cli("env")
    assert (ran.code, ran.out) == (1, "")
    assert "neuraphage dev" in ran.err


def test_config_says_where_the_running_stack_is_noted(cli: CommandLine, noted: str) -> None:
    """The origin of a URL of the running stack is the file that holds it; its password is masked."""
    assert noted
    found = cli("config", "show", "--json").json
    assert found["state_url"]["origin"] == "running stack"
    assert found["state_url"]["place"] == str(load().data_dir / "stack.json")
    assert "pass" not in found["state_url"]["value"]
    assert found["namespace"]["value"] == "two"

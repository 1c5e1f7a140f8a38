"""The forms that never run by their text alone, for lines that cannot be read; see tests/unit/shell for those that can.

Pure: commands are only looked at here. No test may hand one of them to a tool that runs commands.
"""

from __future__ import annotations

import pytest

from neuraphage.decide.policy import looks_catastrophic

WIPES = [
    "rm -rf /", "rm -fr /", "rm -r -f /", "rm -f -r /", "rm -R /", "rm --recursive --force /", "rm -rf -- /",
    "rm -rf /*", "rm -rf ~", "rm -rf ~/", "rm -rf ~/*", "rm -rf $HOME", "rm -rf ${HOME}", 'rm -rf "$HOME"',
    "rm -rf --no-preserve-root /", "rm -rf / --no-preserve-root", "rm / -rf", "sudo rm -rf /", "/bin/rm -rf /",
    "cd / && rm -rf /; echo gone", "rm -rf /\necho gone", "(rm -rf /)", "rm -rf / 2>/dev/null", "rm -rf / > log",
    "mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda bs=1M", "echo x > /dev/sda", ":(){ :|:& };:", "chmod -R 777 /",
]  # fmt: skip
ASKED = [
    "rm -rf build", "rm -rf ./build", "rm -rf /tmp/x", "rm -rf ~/project/build", 'rm -rf "$HOME/x"', "rm -f /",
    "rm -rf /work/*", "rm file", 'echo "rm -rf /"', "git commit -m 'never run rm -rf / here'", "ls /",
    "dd if=a of=b",    "chmod -R 755 ./src", "echo x > /dev/null", "grep -r pattern /", "rm notes; ls -R /",
]  # fmt: skip


@pytest.mark.parametrize("command", WIPES)
def test_a_form_that_wipes_is_blocked(command: str) -> None:
    """Root, home and disks, in every order that the programs take their words."""
    assert looks_catastrophic(command)


@pytest.mark.parametrize("command", ASKED)
def test_a_neighbour_is_not_blocked(command: str) -> None:
    """Other deletes, other places and quoted words are a person's decision."""
    assert not looks_catastrophic(command)


def test_many_flags_are_read_in_linear_time() -> None:
    """Flags can be split in one way only; with two ways each, this would not end within any test's limit."""
    assert not looks_catastrophic("rm -r " + "--aa " * 2_000 + "x")


@pytest.mark.parametrize(
    "unit", ["rm ", "rm -a ", "-rm ", " -rm", "rm / )", "rm / -r_ ", "dd ", "dd;", "chmod ", "chmod -R a ", ": ( ) "]
)
def test_a_command_of_a_megabyte_is_looked_through(unit: str) -> None:
    """A search holds the interpreter: while it looks for longer than a lease, no heartbeat of its process goes out."""
    assert not looks_catastrophic(unit * (1_000_000 // len(unit)))
    assert looks_catastrophic(unit * (1_000_000 // len(unit)) + "\nrm -rf /")

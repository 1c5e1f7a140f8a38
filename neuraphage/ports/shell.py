"""The seam to a parser of shell command lines."""

from __future__ import annotations

from typing import Protocol

from neuraphage.model.shell import ShellLine


class ShellReader(Protocol):
    """Reads command lines without running anything."""

    def read(self, command: str) -> ShellLine | None:
        """All that a line runs and writes, with what its programs run in their turn.

        Returns:
            None where it cannot be read: there is no parser, or the line is no shell's.
        """
        ...

"""What a turn itself must know of files, seen as the tools see them."""

from __future__ import annotations

from neuraphage.model.git_state import GitState
from neuraphage.model.tool import FileSight
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import present_state
from neuraphage.tools.git_state import git_state
from neuraphage.tools.working_dir import working_dir_report


class LocalTurnFiles:
    """Implements ports.TurnFiles."""

    def problem(self, working_dir: str) -> str | None:
        """See ports.TurnFiles."""
        return working_dir_report(working_dir)

    def git_state(self, working_dir: str, timeout_s: float) -> GitState | None:
        """See ports.TurnFiles."""
        return git_state(working_dir, timeout_s)

    def sight(self, path: str, context: ToolContext) -> FileSight | None:
        """See ports.TurnFiles."""
        return present_state(path, context)

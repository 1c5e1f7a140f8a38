"""The traits of the built-in tools, apart from the tools: surfaces show calls, and need no tool to do so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from neuraphage.model.tool_traits import NumberedFile, PartOfFile, ResultView, ToolTraits, WholeFile

BUILTIN_TRAITS: Final[Mapping[str, ToolTraits]] = {
    "read_file": ToolTraits(
        title="Read a file",
        reads=("path",),
        shows=NumberedFile(),
        subject=("path",),
        result=ResultView.LINES,
    ),
    "write_file": ToolTraits(
        title="Write a file",
        writes=("path",),
        change=WholeFile(),
        subject=("path",),
        result=ResultView.NOTHING,
    ),
    "edit": ToolTraits(
        title="Change a part of a file",
        reads=("path",),
        writes=("path",),
        change=PartOfFile(),
        subject=("path",),
        result=ResultView.NOTHING,
    ),
    "list_directory": ToolTraits(
        title="List a directory", reads=("path",), subject=("path",), result=ResultView.ENTRIES
    ),
    "glob": ToolTraits(
        title="Find files by name", reads=("path",), subject=("pattern",), within="path", result=ResultView.LINES
    ),
    "grep": ToolTraits(
        title="Find lines in files", reads=("path",), subject=("pattern",), within="path", result=ResultView.LINES
    ),
    "read_result": ToolTraits(title="Read an old result", subject=("tool_use_id",), result=ResultView.LINES),
    "run_command": ToolTraits(title="Run a shell command", command="command", result=ResultView.END),
    "ask_user": ToolTraits(title="Ask a person", subject=()),
    "spawn_task": ToolTraits(title="Make a subtask", subject=("prompt",)),
    "wait_for_tasks": ToolTraits(title="Wait for subtasks", subject=("tasks",)),
    "complete_task": ToolTraits(title="End the task as done", subject=(), result=ResultView.NOTHING),
    "fail_task": ToolTraits(title="End the task as not to be done", subject=(), result=ResultView.NOTHING),
}
"""By the tool's name."""

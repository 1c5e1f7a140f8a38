"""The tools of a process, by name and in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neuraphage.errors import BadInput
from neuraphage.model.tool import ToolDeclaration
from neuraphage.ports import Sandbox, Tool
from neuraphage.tools.command_tool import MAX_TIMEOUT_S, RunCommand
from neuraphage.tools.control_tools import ask_user, complete_task, fail_task, spawn_task, wait_for_tasks
from neuraphage.tools.read_result import ReadResult
from neuraphage.tools.read_tools import ListDirectory, ReadFile
from neuraphage.tools.search_tools import SEARCH_TIMEOUT_S, Glob, Grep
from neuraphage.tools.tool_names import name_problem
from neuraphage.tools.write_tools import Edit, WriteFile

_MAX_PROBLEMS = 5


class StaticToolBox:
    """A fixed set of tools.

    Args:
        tools: in the order in which the model sees them (a stable order keeps the prompt cache warm).
        problems: of tools that should be here and could not be loaded, each in a sentence.

    Raises:
        BadInput: two tools share a name, or a name is none that the model API takes.
    """

    def __init__(self, tools: Iterable[Tool], problems: Iterable[object] = ()) -> None:
        self._problems = tuple(str(problem) for problem in problems)
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = tool.declaration.name
            if (problem := name_problem(name)) is not None:
                raise BadInput(problem)
            if name in self._tools:
                raise BadInput(f"two tools are named {name!r}: rename one")
            self._tools[name] = tool

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    def declarations(self) -> Sequence[ToolDeclaration]:
        """All tools, in a fixed order."""
        return tuple(tool.declaration for tool in self._tools.values())

    def why_missing(self, name: str) -> str:
        """What the model is told of a tool that is not here."""
        text = f"There is no tool {name!r}. The tools are: {', '.join(self._tools)}."
        if not self._problems:
            return text
        return f"{text} Some could not be loaded by this worker: {'; '.join(self._problems[:_MAX_PROBLEMS])}."


def default_toolbox(
    *,
    max_command_timeout_s: float = MAX_TIMEOUT_S,
    search_timeout_s: float = SEARCH_TIMEOUT_S,
    environ: Mapping[str, str] | None = None,
    extra_env_names: Iterable[str] = (),
    extra: Iterable[Tool] = (),
    problems: Iterable[object] = (),
    sandbox: Sandbox | None = None,
    subtasks: bool = True,
) -> StaticToolBox:
    """The built-in tools.

    Args:
        max_command_timeout_s: longest time that a command may ask for, in seconds.
        search_timeout_s: longest run of glob and grep, in seconds.
        environ: where commands take their environment from; the process's own by default.
        extra_env_names: further variables that commands get.
        extra: third-party tools, put last.
        problems: of third-party tools that could not be loaded.
        sandbox: confines commands; None for nothing.
        subtasks: whether tasks may make others.

    Raises:
        BadInput: an extra tool has a name that is taken or not allowed.
    """
    return StaticToolBox(
        [
            ReadFile(),
            WriteFile(),
            Edit(),
            ListDirectory(),
            Glob(search_timeout_s),
            Grep(search_timeout_s),
            ReadResult(),
            RunCommand(max_command_timeout_s, environ, extra_env_names, sandbox),
            ask_user(),
            *((spawn_task(), wait_for_tasks()) if subtasks else ()),
            complete_task(),
            fail_task(),
            *extra,
        ],
        problems,
    )

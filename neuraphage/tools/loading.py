"""Tools of others: from installed packages (entry points `neuraphage.tools`) and from the setting `tools`.

One that cannot be loaded is left out and told of: in the log, by `neuraphage tools list`, by `doctor`, and to a model
that calls it. It never keeps a worker from starting.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neuraphage.model.effect import TOOL_CLASSES, EffectClass
from neuraphage.model.tool import ToolDeclaration
from neuraphage.ports import DetachedTool, LoadedTool, LoadedTools, ToolProblem
from neuraphage.proc.foreign_code import ForeignCodeFailed, foreign_code
from neuraphage.proc.named_objects import objects, references
from neuraphage.redaction.ends import Redact
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.function_tool import FunctionTool
from neuraphage.tools.tool_names import name_problem

GROUP = "neuraphage.tools"
_METHODS = ("check", "prepare", "run", "probe")
_MAX_REASON_CHARS = 500


class _NotATool(Exception):
    pass


def load_tools(named: Iterable[str], taken: Iterable[str] = BUILTIN_TRAITS, *, redact: Redact = str) -> LoadedTools:
    """Load the tools of this installation: those of its packages first, then those that are named.

    Args:
        named: `package.module:object`, from the settings; an object is a tool, or a list or tuple of tools.
        taken: names that others have.
        redact: takes secrets out of what the code of others says, before it is shortened.
    """
    tools: list[LoadedTool] = []
    problems: list[ToolProblem] = []
    names = set(taken)
    for origin, reference in references(GROUP, named):
        try:
            found = _tools_of(reference, redact)
        except _NotATool as error:
            problems.append(ToolProblem(origin, str(error)))
            continue
        for tool in found:
            problem = _problem(tool, names, redact)
            if problem is not None:
                problems.append(ToolProblem(origin, problem))
                continue
            names.add(tool.declaration.name)
            tools.append(LoadedTool(tool, origin))
    return LoadedTools(tuple(tools), tuple(problems))


def _tools_of(reference: str, redact: Redact) -> list[Any]:
    """Import what is named.

    Raises:
        _NotATool: it cannot be imported, or is something else.
    """
    try:
        return objects(reference)
    except ForeignCodeFailed as failed:
        why = f"{_said(failed, redact)}{_in_this_folder(failed.error)}"
        raise _NotATool(f"it cannot be imported: {why}") from failed.error


def _said(failed: ForeignCodeFailed, redact: Redact) -> str:
    """What an error of others' code says, without secrets and halves of them."""
    return redact(str(failed))[:_MAX_REASON_CHARS]


def _in_this_folder(error: BaseException) -> str:
    """Where a module is that was not found, if it is where a person with a first tool has it."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    for name in (f"{error.name}.py", f"{error.name}/__init__.py"):
        if Path(name).is_file():
            return f"; {name} is in the current folder, which is not looked into; set PYTHONPATH={Path.cwd()}"
    return ""


def _problem(tool: Any, names: set[str], redact: Redact) -> str | None:
    """Why an object cannot be used as a tool, or None."""
    if isinstance(tool, type) or not all(hasattr(tool, part) for part in _METHODS):
        what = "a class; name an instance of it" if isinstance(tool, type) else f"a {type(tool).__name__}"
        return f"it is no tool but {what}; decorate a function by @tool, or see neuraphage.ports.Tool"
    try:
        with foreign_code():
            declaration = tool.declaration
    except ForeignCodeFailed as failed:
        return f"its declaration fails: {_said(failed, redact)}"
    if not isinstance(declaration, ToolDeclaration):
        return f"its declaration is a {type(declaration).__name__}, not a ToolDeclaration"
    name = declaration.name
    if (wrong := name_problem(name)) is not None:
        return wrong
    if name in names:
        return f"the name {name} is taken by another tool; give it another one"
    if declaration.effect_class not in TOOL_CLASSES:
        return f"{name} declares the effect {declaration.effect_class.value}, which no tool can have"
    if declaration.control is not None:
        return f"{name} declares itself to be carried out by the turn, as only built-in tools are"
    if declaration.detached:
        return _detached_problem(tool, declaration)
    if isinstance(tool, FunctionTool) and declaration.effect_class is EffectClass.CHECKABLE and not tool.has_probe:
        return f"{name} is checkable and has no probe; add one by @{name}.probe_with, or declare it opaque"
    return None


def _detached_problem(tool: Any, declaration: ToolDeclaration) -> str | None:
    name = declaration.name
    if declaration.effect_class is not EffectClass.OPAQUE:
        return f"{name} is detached work and declares the effect {declaration.effect_class.value}; declare it opaque"
    if not isinstance(tool, DetachedTool):
        return f"{name} declares its calls to be detached work and has no detached_result that reads what came of it"
    return None

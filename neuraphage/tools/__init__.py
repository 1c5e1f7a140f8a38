"""The tools a model may call: files, search, commands and control, and what one needs to add tools of one's own.

`registry.default_toolbox` lists the built-in ones. Names are loaded when first used: a search runs in a process of its
own that needs two small modules of this folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraphage.decide.attachments import attachment_of
    from neuraphage.model.attachment import Attachment
    from neuraphage.model.effect import EffectClass
    from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
    from neuraphage.model.tool_traits import NumberedFile, PartOfFile, ResultView, ToolTraits, WholeFile
    from neuraphage.ports import Tool, ToolContext
    from neuraphage.tools.base import ToolCallError
    from neuraphage.tools.decorator import tool
    from neuraphage.tools.function_tool import FunctionTool

_HOMES = {
    "Attachment": "neuraphage.model.attachment",
    "EffectClass": "neuraphage.model.effect",
    "FunctionTool": "neuraphage.tools.function_tool",
    "NumberedFile": "neuraphage.model.tool_traits",
    "PartOfFile": "neuraphage.model.tool_traits",
    "Probe": "neuraphage.model.tool",
    "ProbeVerdict": "neuraphage.model.tool",
    "ResultView": "neuraphage.model.tool_traits",
    "Tool": "neuraphage.ports",
    "ToolCallError": "neuraphage.tools.base",
    "ToolContext": "neuraphage.ports",
    "ToolDeclaration": "neuraphage.model.tool",
    "ToolResult": "neuraphage.model.tool",
    "ToolTraits": "neuraphage.model.tool_traits",
    "WholeFile": "neuraphage.model.tool_traits",
    "attachment_of": "neuraphage.decide.attachments",
    "tool": "neuraphage.tools.decorator",
}

__all__ = [
    "Attachment",
    "EffectClass",
    "FunctionTool",
    "NumberedFile",
    "PartOfFile",
    "Probe",
    "ProbeVerdict",
    "ResultView",
    "Tool",
    "ToolCallError",
    "ToolContext",
    "ToolDeclaration",
    "ToolResult",
    "ToolTraits",
    "WholeFile",
    "attachment_of",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

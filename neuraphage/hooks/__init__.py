"""Hooks: code of a person that judges what a task is about to do, or is told of what it did. See docs/hooks.md.

Names are loaded when first used, as those of `neuraphage.tools`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraphage.hooks.declaring import allow, answer, block, change, guard, observer
    from neuraphage.model.hook import HookPoint, Verdict, VerdictKind
    from neuraphage.model.hook_payload import (
        LoopIteration,
        Observed,
        PermissionRequest,
        PostContextAssembly,
        PostLLMCall,
        PostToolUse,
        PostUserInput,
        PreContextAssembly,
        PreLLMCall,
        PreToolUse,
        PreUserPrompt,
        SecurityPolicyCheck,
    )

_DECLARING = ("allow", "answer", "block", "change", "guard", "observer")
_MODEL = ("HookPoint", "Verdict", "VerdictKind")
__all__ = [
    "HookPoint",
    "LoopIteration",
    "Observed",
    "PermissionRequest",
    "PostContextAssembly",
    "PostLLMCall",
    "PostToolUse",
    "PostUserInput",
    "PreContextAssembly",
    "PreLLMCall",
    "PreToolUse",
    "PreUserPrompt",
    "SecurityPolicyCheck",
    "Verdict",
    "VerdictKind",
    "allow",
    "answer",
    "block",
    "change",
    "guard",
    "observer",
]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _DECLARING:
        return getattr(import_module("neuraphage.hooks.declaring"), name)
    return getattr(import_module("neuraphage.model.hook" if name in _MODEL else "neuraphage.model.hook_payload"), name)

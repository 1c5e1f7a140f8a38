"""Public fakes and test tools: a clock, a store, recorders and crashes of ports, and a scripted Messages API.

Names are loaded when first used, so that the pytest plugin costs nothing in suites that do not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraphage.testing.clock import ManualClock
    from neuraphage.testing.crash import CrashInjector, CrashPoint, Side, crash_points
    from neuraphage.testing.marker_kills import KillAt
    from neuraphage.testing.recorder import Call, Recorder, recordable
    from neuraphage.testing.run_turns import RanTask, RunTurns, ToolRun
    from neuraphage.testing.scripted_model import ScriptedModel
    from neuraphage.testing.store import fake_store
    from neuraphage.tools.tool_check import ToolFinding, ToolReport, check_tool

_HOMES = {
    "Call": "neuraphage.testing.recorder",
    "CrashInjector": "neuraphage.testing.crash",
    "CrashPoint": "neuraphage.testing.crash",
    "KillAt": "neuraphage.testing.marker_kills",
    "ManualClock": "neuraphage.testing.clock",
    "RanTask": "neuraphage.testing.run_turns",
    "Recorder": "neuraphage.testing.recorder",
    "RunTurns": "neuraphage.testing.run_turns",
    "ScriptedModel": "neuraphage.testing.scripted_model",
    "Side": "neuraphage.testing.crash",
    "ToolRun": "neuraphage.testing.run_turns",
    "ToolFinding": "neuraphage.tools.tool_check",
    "ToolReport": "neuraphage.tools.tool_check",
    "check_tool": "neuraphage.tools.tool_check",
    "crash_points": "neuraphage.testing.crash",
    "fake_store": "neuraphage.testing.store",
    "recordable": "neuraphage.testing.recorder",
}

__all__ = [
    "Call",
    "CrashInjector",
    "CrashPoint",
    "KillAt",
    "ManualClock",
    "RanTask",
    "Recorder",
    "RunTurns",
    "ScriptedModel",
    "Side",
    "ToolFinding",
    "ToolReport",
    "ToolRun",
    "check_tool",
    "crash_points",
    "fake_store",
    "recordable",
]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

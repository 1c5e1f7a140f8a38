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
    from neuraphage.testing.tool_check import ToolReport, check_tool

_HOMES = {
    "Call": "recorder",
    "CrashInjector": "crash",
    "CrashPoint": "crash",
    "KillAt": "marker_kills",
    "ManualClock": "clock",
    "RanTask": "run_turns",
    "Recorder": "recorder",
    "RunTurns": "run_turns",
    "ScriptedModel": "scripted_model",
    "Side": "crash",
    "ToolRun": "run_turns",
    "ToolReport": "tool_check",
    "check_tool": "tool_check",
    "crash_points": "crash",
    "fake_store": "store",
    "recordable": "recorder",
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
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

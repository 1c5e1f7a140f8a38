"""Public fakes and test tools: a clock, a store, recorders and crashes of ports, and a scripted Messages API.

Names are loaded when first used, so that the pytest plugin costs nothing in suites that do not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraphage.testing.clock import ManualClock
    from neuraphage.testing.crash import CrashInjector, CrashPoint, Side, crash_points
    from neuraphage.testing.recorder import Call, Recorder, recordable
    from neuraphage.testing.store import fake_store

_HOMES = {
    "Call": "recorder",
    "CrashInjector": "crash",
    "CrashPoint": "crash",
    "ManualClock": "clock",
    "Recorder": "recorder",
    "Side": "crash",
    "crash_points": "crash",
    "fake_store": "store",
    "recordable": "recorder",
}

__all__ = [
    "Call",
    "CrashInjector",
    "CrashPoint",
    "ManualClock",
    "Recorder",
    "Side",
    "crash_points",
    "fake_store",
    "recordable",
]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

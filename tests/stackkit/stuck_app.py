"""Our Celery app with a keyed and an opaque tool more, which hold the interpreter in one C call."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import neuraphage.wiring as wiring
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.registry import default_toolbox


class Sticking:
    """Holds the interpreter of its process for so many seconds; notes each run in a file.

    Args:
        name: of the tool.
        effect_class: what a repeat does.
    """

    def __init__(self, name: str, effect_class: EffectClass) -> None:
        self.declaration = ToolDeclaration(
            name=name,
            description="Holds the interpreter.",
            input_schema={"type": "object"},
            effect_class=effect_class,
            side_effecting=True,
            timeout_s=600,
        )

    def check(self, params: Mapping[str, Any]) -> str | None:
        """Everything is allowed."""
        return None

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Nothing to note."""
        return {}

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """PyDLL keeps the lock for the whole call, as `re` or a big sort does."""
        with (Path(context.working_dir) / "runs.txt").open("a") as runs:
            runs.write(f"{self.declaration.name} {context.effect_id}\n")
        ctypes.PyDLL(None).usleep(int(float(params["seconds"]) * 1e6))
        return ToolResult(text="held")

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """It cannot tell."""
        return Probe(verdict=ProbeVerdict.UNKNOWN)


def _toolbox(*_: Any) -> Any:
    return default_toolbox(extra=[Sticking("stick", EffectClass.KEYED), Sticking("stick_opaque", EffectClass.OPAQUE)])


wiring.build_toolbox = _toolbox  # the app below builds its tools by this name

from workers.app import app  # noqa: E402 - after the tools are set

__all__ = ["app"]

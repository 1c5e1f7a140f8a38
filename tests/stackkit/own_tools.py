"""Tools of the tests' own, which workers load by the setting `tools`."""

from __future__ import annotations

import time
from pathlib import Path

from neuraphage.tools import ToolContext, tool


def _charge(customer: str, cents: int, context: ToolContext) -> str:
    """Charge a customer: one file for each key, one line for each call; it ends when the file `go` is there."""
    folder = Path(context.working_dir or "")
    (folder / "charges").mkdir(exist_ok=True)
    (folder / "charges" / context.effect_id).write_text(f"{customer} {cents}", encoding="utf-8")
    with (folder / "calls").open("a", encoding="utf-8") as file:
        file.write("called\n")
    while not (folder / "go").exists():
        context.interrupt.check()
        time.sleep(0.02)
    return f"charged {customer}"


charge = tool(effect="keyed", timeout_s=600, name="charge", asks=False)(_charge)
charge_otherwise = tool(effect="keyed", timeout_s=600, name="charge", asks=False, version="otherwise")(_charge)

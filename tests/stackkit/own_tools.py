"""Tools of the tests' own, which workers load by the setting `tools`."""

from __future__ import annotations

import os
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


@tool(effect="keyed", timeout_s=600, asks=False)
def pay(name: str, pause_s: float, context: ToolContext) -> str:
    """Pay: one file for each key, with what was paid for."""
    paid = Path(context.working_dir or "") / "paid"
    paid.mkdir(exist_ok=True)
    before = paid / f".{context.effect_id}-{os.getpid()}"
    before.write_text(name, encoding="utf-8")
    before.replace(paid / context.effect_id)  # the other side has a payment or has none
    time.sleep(pause_s)  # its effect is there, and nobody has noted it: where a kill is wanted
    return f"paid {name}"

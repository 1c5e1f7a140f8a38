"""Entries of a spool, made by hand: what a command leaves that is over."""

from __future__ import annotations

from pathlib import Path

import orjson

from neuraphage.ports import SpoolCommand

DONE_ID, SEALED_ID, LOST_ID, NEW_ID = ("d" * 32, "e" * 32, "f" * 32, "a" * 32)


def command(effect_id: str = NEW_ID) -> SpoolCommand:
    return SpoolCommand(effect_id=effect_id, argv=("true",), cwd="/", timeout_s=30.0, env={}, task_id="task")


def ended(entry: Path, reason: str = "exited", output: str = "words\n") -> None:
    """The entry of a command that is over."""
    entry.mkdir()
    facts = {"exit_code": 0, "reason": reason, "started_at": 1.0, "ended_at": 2.0, "duration_s": 1.0}
    (entry / "exit.json").write_bytes(orjson.dumps(facts))
    (entry / "output").write_text(output, encoding="utf-8")
    (entry / "decision").write_text("started", encoding="utf-8")
    (entry / "alive").write_text("runner 1 keeper 2", encoding="utf-8")

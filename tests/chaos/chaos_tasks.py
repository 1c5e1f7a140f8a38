"""Tasks for chaos: several turns, slow streams and tools that leave lines, and what must be there at the end.

One of the tools is a keyed one of a user, which the workers load by the setting `tools`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackkit import command, task_prompt, turn

MIN_TURNS, MAX_TURNS = 4, 7
OWN_TOOLS = "stackkit.own_tools:pay"
"""What the workers must load."""


@dataclass(frozen=True)
class ChaosTask:
    """What one task does.

    Args:
        prompt: its plan.
        turns: how many replies it takes.
        log: lines that its commands write, in order.
        notes: lines that its edits add, in order.
        files: what its write_file calls leave.
        paid: what its keyed calls pay for, each under a key of its own.
    """

    prompt: str
    turns: int
    log: tuple[str, ...]
    notes: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    paid: tuple[str, ...]

    def problems(self, folder: Path) -> list[str]:
        """What a finished task's folder shows too often or not at all."""
        expected = {"log.txt": "".join(f"{line}\n" for line in self.log)}
        expected["notes.txt"] = "".join(f"{line}\n" for line in (*reversed(self.notes), "END"))
        expected |= dict(self.files)
        found = {name: read(folder / name) for name in expected}
        wrong = [
            f"{folder.name}/{name}: {found[name]!r}, not {expected[name]!r}"
            for name in expected
            if found[name] != expected[name]
        ]
        paid = sorted(read(path) for path in (folder / "paid").glob("[!.]*"))  # one file a key
        if paid != sorted(self.paid):
            wrong.append(f"{folder.name}: paid for {paid}, not {sorted(self.paid)}")
        return wrong


def read(path: Path) -> str:
    """A file's text; empty when there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


@dataclass
class _Drawn:
    """What the calls of a task leave, as far as they are drawn."""

    log: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)


def make_task(rng: random.Random) -> ChaosTask:
    """Draw a task."""
    drawn = _Drawn()
    turns: list[dict[str, Any]] = [turn("first", ("write_file", {"path": "notes.txt", "content": "END\n"}))]
    for number in range(1, rng.randint(MIN_TURNS, MAX_TURNS)):
        tools = [_tool(rng, f"{number}.{k}", drawn) for k in range(rng.randint(1, 2))]
        pace = {"between_events_s": rng.choice([0.0, 0.02, 0.05]), "chunk_chars": 8}
        turns.append(turn("words " * rng.randint(2, 20), *tools, **pace))
    turns.append(turn("done"))
    effects = (tuple(drawn.log), tuple(drawn.notes), tuple(drawn.files), tuple(drawn.paid))
    return ChaosTask(task_prompt(*turns), len(turns), *effects)


def _tool(rng: random.Random, name: str, drawn: _Drawn) -> tuple[str, dict[str, Any]]:
    match rng.choice(["command", "command", "edit", "write", "pay"]):
        case "edit":
            # each edit puts its line on top: a second run of it would be seen
            old = f"{drawn.notes[-1]}\n" if drawn.notes else "END\n"
            drawn.notes.append(f"note {name}")
            return "edit", {"path": "notes.txt", "old_string": old, "new_string": f"note {name}\n{old}"}
        case "write":
            drawn.files.append((f"file-{name}.txt", f"written by {name}\n"))
            return "write_file", {"path": f"file-{name}.txt", "content": f"written by {name}\n"}
        case "pay":
            drawn.paid.append(name)
            return "pay", {"name": name, "pause_s": rng.choice([0.0, 0.05, 0.3])}
        case _:
            drawn.log.extend([f"{name} start", f"{name} end"])
            pause_s = rng.choice([0.05, 0.3, 0.8])
            return command(f"echo '{name} start' >> log.txt; sleep {pause_s}; echo '{name} end' >> log.txt")

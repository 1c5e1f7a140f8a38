"""Tasks for chaos: several turns, slow streams and tools that leave lines, and what must be there at the end."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackkit import command, task_prompt, turn

MIN_TURNS, MAX_TURNS = 4, 7


@dataclass(frozen=True)
class ChaosTask:
    """What one task does.

    Args:
        prompt: its plan.
        turns: how many replies it takes.
        log: lines that its commands write, in order.
        notes: lines that its edits add, in order.
        files: what its write_file calls leave.
    """

    prompt: str
    turns: int
    log: tuple[str, ...]
    notes: tuple[str, ...]
    files: tuple[tuple[str, str], ...]

    def problems(self, folder: Path) -> list[str]:
        """What a finished task's folder shows too often or not at all."""
        expected = {"log.txt": "".join(f"{line}\n" for line in self.log)}
        expected["notes.txt"] = "".join(f"{line}\n" for line in (*reversed(self.notes), "END"))
        expected |= dict(self.files)
        found = {name: read(folder / name) for name in expected}
        return [
            f"{folder.name}/{name}: {found[name]!r}, not {expected[name]!r}"
            for name in expected
            if found[name] != expected[name]
        ]


def read(path: Path) -> str:
    """A file's text; empty when there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def make_task(rng: random.Random) -> ChaosTask:
    """Draw a task."""
    log: list[str] = []
    notes: list[str] = []
    files: list[tuple[str, str]] = []
    turns: list[dict[str, Any]] = [turn("first", ("write_file", {"path": "notes.txt", "content": "END\n"}))]
    for number in range(1, rng.randint(MIN_TURNS, MAX_TURNS)):
        tools = [_tool(rng, f"{number}.{k}", log, notes, files) for k in range(rng.randint(1, 2))]
        pace = {"between_events_s": rng.choice([0.0, 0.02, 0.05]), "chunk_chars": 8}
        turns.append(turn("words " * rng.randint(2, 20), *tools, **pace))
    turns.append(turn("done"))
    return ChaosTask(task_prompt(*turns), len(turns), tuple(log), tuple(notes), tuple(files))


def _tool(
    rng: random.Random, name: str, log: list[str], notes: list[str], files: list[tuple[str, str]]
) -> tuple[str, dict[str, Any]]:
    match rng.choice(["command", "command", "edit", "write"]):
        case "edit":
            # each edit puts its line on top: a second run of it would be seen
            old = f"{notes[-1]}\n" if notes else "END\n"
            notes.append(f"note {name}")
            return "edit", {"path": "notes.txt", "old_string": old, "new_string": f"note {name}\n{old}"}
        case "write":
            files.append((f"file-{name}.txt", f"written by {name}\n"))
            return "write_file", {"path": f"file-{name}.txt", "content": f"written by {name}\n"}
        case _:
            log.extend([f"{name} start", f"{name} end"])
            pause_s = rng.choice([0.05, 0.3, 0.8])
            return command(f"echo '{name} start' >> log.txt; sleep {pause_s}; echo '{name} end' >> log.txt")

"""The work that is measured, the same for every contender.

One turn is a fake model call that returns 2 KB of text with one tool call, and the tool call, which writes a small
file and returns 2 KB. Each start of either is one line of a log, so that times are read outside the contenders.
"""

from __future__ import annotations

import base64
import os
import random
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

POOL_TEXTS = 64
TEXT_CHARS = 2_048
FILE_CHARS = 200
TOOL = "write_note"
FOLDER_VARIABLE = "BENCH_FOLDER"
CHAIN_STEP = "chain.step"
CHAIN_DONE = "chain:done"
"""Key that counts the chains which have ended."""


@cache
def texts() -> tuple[str, ...]:
    """Texts that compress badly and differ from one turn to the next."""
    source = random.Random(7)
    return tuple(base64.b64encode(source.randbytes(TEXT_CHARS * 3 // 4)).decode() for _ in range(POOL_TEXTS))


def folder() -> Path:
    """Folder of this run: log and written files."""
    return Path(os.environ[FOLDER_VARIABLE])


@cache
def _log_fd(root: Path) -> int:
    return os.open(root / "starts.log", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)


def note_start(task: str, turn: int, kind: str) -> None:
    """Write down that a step begins now."""
    os.write(_log_fd(folder()), f"{time.time_ns()} {os.getpid()} {task} {turn} {kind}\n".encode())


def model_text(task: str, turn: int, wait_ms: float) -> str:
    """The fake model: wait, then answer."""
    note_start(task, turn, "model")
    if wait_ms:
        time.sleep(wait_ms / 1000)
    return texts()[turn % POOL_TEXTS]


def run_tool(task: str, turn: int) -> str:
    """The fake tool: write a small file, answer with 2 KB."""
    note_start(task, turn, "tool")
    work = folder() / "work" / task
    work.mkdir(parents=True, exist_ok=True)
    (work / f"{turn}.txt").write_text(texts()[turn % POOL_TEXTS][:FILE_CHARS], encoding="utf-8")
    return texts()[(turn + 31) % POOL_TEXTS]


def ready_file(root: Path, pid: int) -> Path:
    """The file that a Celery worker makes when it is ready."""
    return root / f"ready-{pid}"


def mark_ready(**_: Any) -> None:
    """Receives Celery's worker_ready."""
    ready_file(folder(), os.getpid()).touch()


Start = tuple[int, int, str, int, str]
"""When (ns), process, task, turn, kind."""


def starts(root: Path, task: str | None = None) -> list[Start]:
    """Every step that was begun, in order."""
    path = root / "starts.log"
    if not path.exists():
        return []
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return [(int(at), int(pid), name, int(turn), kind) for at, pid, name, turn, kind in rows if task in (None, name)]


def gaps_ms(root: Path, task: str) -> list[float]:
    """Times between consecutive model calls of one task."""
    times = [start[0] for start in starts(root, task) if start[4] == "model"]
    return [(later - earlier) / 1e6 for earlier, later in pairwise(times)]

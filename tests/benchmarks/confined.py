"""What the sandbox costs a command: `true` through the spool, with all rights, confined, and confined with a proxy."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from neuraphage.ports import Sandbox, SpoolCommand
from neuraphage.settings import Settings
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.tools.command_tool import start_confined
from neuraphage.wiring import build_sandbox

LIMIT_S = 600.0
KINDS = {
    "with all rights of its worker": {"sandbox": "off"},
    "in the sandbox": {"sandbox": "require"},
    "in the sandbox, with a way to an allowed host": {"sandbox": "require", "allow_hosts": ("a.example",)},
}
"""What is measured, each with its settings; the first is what the others are compared with."""


class _NeverInterrupted:
    def check(self) -> None:
        pass

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


def wall_ms(folder: Path, times: int) -> dict[str, list[float]]:
    """Milliseconds of each run, from its confinement to its read result; the kinds take turns.

    Args:
        folder: an empty one.
        times: runs of each kind.

    Raises:
        RuntimeError: a command did not do what it is timed for.
        SettingsError: this machine has no sandbox.
    """
    kinds = {}
    for number, (name, settings) in enumerate(KINDS.items()):
        data = folder / f"data-{number}"
        values = Settings(
            state_url=f"unix://{folder}/none?db=0",
            broker_url=f"redis+socket://{folder}/none?virtual_host=1",
            data_dir=data,
            **settings,
        )
        kinds[name] = (build_sandbox(values), CommandSpool(data / "spool", 1_000_000))
    work = folder / "work"
    work.mkdir()
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(times):
        for name, (sandbox, spool) in kinds.items():
            found[name].append(_one_ms(sandbox, spool, work))
    return found


def _one_ms(sandbox: Sandbox, spool: CommandSpool, work: Path) -> float:
    environ = {"PATH": os.environ["PATH"], "HOME": str(Path.home())}
    command = SpoolCommand(secrets.token_hex(16), ("/bin/bash", "-c", "true"), str(work), LIMIT_S, environ, "bench")
    begun_s = time.perf_counter()
    confined = sandbox.confined(command)
    with sandbox.served(command.effect_id):
        start_confined(spool, confined, lambda: sandbox.confined(command))
        ended = spool.wait(command.effect_id, 1_000, _NeverInterrupted())
    took_ms = (time.perf_counter() - begun_s) * 1000
    if ended.exit_code != 0:
        raise RuntimeError(f"a command that is timed ended with {ended.exit_code}: {ended.output!r}")
    return took_ms

"""Which processes of this host use a data folder, whoever started them; what purge must wait for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from neuraphage.data_folder import SPOOL, noted_users
from neuraphage.dev.server_files import ServerFiles
from neuraphage.dev.server_probe import find_process
from neuraphage.host_health import host_health
from neuraphage.setting_sources import variable
from neuraphage.settings import Settings
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.spool.entry import Entry

_PROGRAMS = ("neuraphage.celery_app", "workers.app", "neuraphage.testing.scripted_api")
"""What the command line of a process of ours names."""
_KINDS = ("worker", "beat", "flower")


def users_of(settings: Settings, files: ServerFiles) -> Iterator[str]:
    """A sentence for each process that uses the data folder, with its process id and what to do.

    Args:
        settings: name the folder.
        files: of the folder's server.
    """
    server = find_process(files.config)
    if server is not None:
        yield f"its server (pid {server.pid}) runs, left by a stack that was killed; start `neuraphage dev` and stop it"
    told = set()
    for namespace in _namespaces(settings.data_dir / "health"):
        for process in host_health(settings.model_copy(update={"namespace": namespace})):
            told.add(process.pid)
            yield f"worker {process.name} (pid {process.pid}) runs; stop it"
    for pid, kind in _processes_with(settings.data_dir):
        if pid not in told:
            yield f"{kind} (pid {pid}) runs; stop it"
    for namespace in _namespaces(settings.data_dir / SPOOL):
        root = settings.data_dir / SPOOL / namespace
        for effect_id, task_id in CommandSpool(root, settings.spool_max_bytes).running():
            pids = ", ".join(f"pid {pid}" for pid in Entry(root / effect_id).guardians()) or "pid not known yet"
            yield f"a command of {task_id or 'a task'} runs ({effect_id}, {pids}); wait for its end, or cancel the task"


def _processes_with(data_dir: Path) -> Iterator[tuple[int, str]]:
    """Processes of ours whose environment names the folder, or that hold its mark, since they hide their environment:
    beat, Flower, a worker that has not told of itself yet.

    A process that they forked is left out: it ends with them.
    """
    found = {}
    noted = noted_users(data_dir)
    for process in psutil.process_iter(["cmdline", "ppid"]):
        argv = process.info["cmdline"] or []
        is_ours = any(program in argument for argument in argv for program in _PROGRAMS)
        if is_ours and (process.pid in noted or _names(process, data_dir)):
            kind = next((kind for kind in _KINDS if kind in argv), "a process of its stack")
            found[process.pid] = kind, process.info["ppid"]
    for pid, (kind, parent) in found.items():
        if parent not in found:
            yield pid, kind


def _names(process: psutil.Process, data_dir: Path) -> bool:
    try:
        named = process.environ().get(variable("data_dir"))
        return bool(named) and os.path.realpath(Path(process.cwd(), str(named))) == os.path.realpath(data_dir)
    except psutil.Error:  # gone meanwhile, or another user's
        return False


def _namespaces(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

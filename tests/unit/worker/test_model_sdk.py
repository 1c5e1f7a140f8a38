"""When a worker imports the model's SDK, which is more than half of all that it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_S
from source_tree import ROOT

BEGIN = """
import gc, logging, signal, sys, threading
import neuraphage.worker.app, neuraphage.worker.tasks
from celery import signals
from neuraphage.worker.model_sdk import load_behind_ready, share_with_children

def show(): print("anthropic" in sys.modules)
def begin(queue): signals.celeryd_init.send("a", options={"queues": queue})
def in_the_back():
    load_behind_ready()
    for thread in threading.enumerate():
        if thread.name == "neuraphage-model-sdk": thread.join()
"""
"""Functions by the names of what they stand for; every program ends with `done`, or it has failed."""


def told(program: str, folder: Path, **environ: str) -> list[str]:
    """What a process of its own prints, whose modules nothing has imported before."""
    env = {"NEURAPHAGE_DATA_DIR": str(folder), "ANTHROPIC_API_KEY": "k", "PYTHONPATH": str(ROOT)} | environ
    argv = [sys.executable, "-c", f"{BEGIN}\n{program}\nprint('done')"]
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.endswith("done\n"), done.stderr
    return done.stdout.split()[:-1] + done.stderr.splitlines()


@pytest.mark.parametrize("step", ["share_with_children()", "in_the_back()"])
@pytest.mark.parametrize(("queue", "is_loaded"), [("np.run", "True"), ("np.control", "False")])
def test_only_who_takes_turns_imports_it_and_late(step: str, queue: str, is_loaded: str, tmp_path: Path) -> None:
    """Not to check its configuration: before the first fork, or behind `ready`; and never in a control worker."""
    assert told(f"begin({queue!r}); show(); {step}; show()", tmp_path) == ["False", is_loaded]


def test_what_children_share_is_left_alone(tmp_path: Path) -> None:
    """A look for cycles in a child would copy it to that child. It is frozen once: a later fork comes amidst turns."""
    program = """
begin("np.run"); share_with_children(); print(gc.isenabled(), gc.get_freeze_count() > 100_000)
gc.unfreeze(); share_with_children(); print(gc.get_freeze_count())
"""
    assert told(program, tmp_path) == ["True", "True", "0"]


def test_a_parent_that_has_it_does_not_import_it_in_a_thread(tmp_path: Path) -> None:
    """A fork may come at any time, and a child would inherit the locks of an import."""
    program = "begin('np.run'); share_with_children(); load_behind_ready(); print(threading.active_count())"
    assert told(program, tmp_path) == ["1"]


def test_a_configuration_that_cannot_work_is_refused_without_it(tmp_path: Path) -> None:
    """A wrong address, before anything of the SDK was imported."""
    program = """
try:
    begin("np.run")
except SystemExit as ended:
    print(ended.code)
show()
"""
    said = told(program, tmp_path, NEURAPHAGE_ANTHROPIC_BASE_URL="api.example")
    assert said[:2] == ["2", "False"]
    assert said[2].startswith("worker: anthropic_base_url is no address")


def test_a_worker_whose_sdk_is_broken_says_so_and_ends(tmp_path: Path) -> None:
    """It gives back what it holds: a warm shutdown, so that its supervisor and its tasks get another chance."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "anthropic.py").write_text("raise RuntimeError('half an installation')", encoding="utf-8")
    program = """
signal.signal(signal.SIGTERM, lambda *_: print("asked to end"))
begin("np.run"); in_the_back()
"""
    said = told(program, tmp_path, PYTHONPATH=f"{tmp_path / 'broken'}:{ROOT}")
    assert said[:3] == ["asked", "to", "end"]
    assert any("the model's SDK cannot be imported" in line for line in said)

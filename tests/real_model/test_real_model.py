"""A task on a model whose words nobody has written down before."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from clikit import SCRIPT
from devstack import LIMIT_S, DevStack, wait_for
from neuraphage.dev.demo import free_port

pytestmark = [
    pytest.mark.real_redis,
    pytest.mark.real_workers,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None, reason=".ci/real-model installs the model and runs this"
    ),
]
ORDER = "Write the word hello to the file greeting.txt"


class ModelServer:
    """The process of the model, with what it has said of each call."""

    def __init__(self, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}/v1"
        self._log = folder / "model.log"
        argv = [sys.executable, str(Path(__file__).with_name("small_model.py")), str(port)]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=subprocess.DEVNULL)
        wait_for(lambda: _accepts(port), "the model to be loaded")

    def lines(self, key: str) -> list[dict[str, Any]]:
        """What was asked, or what was said, in order."""
        lines = [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if key in line]


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ModelServer]:
    """The model, loaded."""
    server = ModelServer(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


def worker_of(data_dir: Path) -> psutil.Process | None:
    """The process that runs the turns of this stack."""
    for process in psutil.process_iter():
        try:
            if process.environ().get("NEURAPHAGE_DATA_DIR") == str(data_dir) and "np.run" in process.cmdline():
                return process
        except psutil.Error:
            continue
    return None


def test_a_real_model_does_a_task_of_two_steps_through_a_kill(model: ModelServer, tmp_path: Path) -> None:
    """Its first reply is a call, its second the end; a worker that dies while it thinks costs no second thought."""
    project = tmp_path / "project"
    project.mkdir()
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        place = DevStack(Path(folder))
        chosen = ("--model", "openai:smollm2", "--base-url", model.url, "--price", "openai: 0 0")
        argv = [SCRIPT, "run", ORDER, "--dir", str(project), "--allow", "*", *chosen]
        run = subprocess.Popen(argv, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_for(lambda: model.lines("asked"), "the first call")
        worker = worker_of(place.data_dir)
        assert worker is not None
        os.kill(worker.pid, signal.SIGKILL)
        shown, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, shown
    written = json.loads(model.lines("said")[0]["said"])["arguments"]
    assert (project / written["path"]).read_text(encoding="utf-8") == written["content"]
    assert model.lines("asked")[1]["asked"][-1] == "tool", "the second call has the result of the first"
    assert len(model.lines("asked")) == len(model.lines("said")), "no call was made twice"

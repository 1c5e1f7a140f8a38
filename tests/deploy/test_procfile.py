"""The Procfile under a process runner, with the server of the stack and a namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from deployment import Deployment, wait_for
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.client_wiring import build_store
from neuraphage.data_folder import CONTENTS, MARK, is_ours
from neuraphage.host_health import host_health
from neuraphage.model.task import Status
from neuraphage.settings import Settings
from patience import PATIENCE_S
from source_tree import ROOT
from stackkit.scripts import command, task_prompt, turn

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
HONCHO = Path(sys.executable).with_name("honcho")


def ready_names(settings: Settings) -> set[str]:
    """Node names of the workers that are ready."""
    return {process.name for process in host_health(settings) if process.ready}


def test_a_task_goes_through_and_nothing_is_left(deployment: Deployment, tmp_path: Path) -> None:
    """Two workers, a control worker and beat start from the file, in a data folder that is not there yet, and put
    nothing into it that purge would not know; SIGTERM to the runner ends them all."""
    url = f"redis://:{deployment.passwords['REDIS_PASSWORD']}@127.0.0.1:{deployment.ports['redis']}"
    env = {
        "NEURAPHAGE_STATE_URL": f"{url}/1",
        "NEURAPHAGE_BROKER_URL": f"{url}/0",
        "NEURAPHAGE_NAMESPACE": "procfile",
        "NEURAPHAGE_DATA_DIR": str(tmp_path / "data"),
        "NEURAPHAGE_SWEEP_S": "1",
        "NEURAPHAGE_ANTHROPIC_BASE_URL": deployment.model_url,
        "ANTHROPIC_API_KEY": "a-key-of-tests",
    }
    (tmp_path / "env").write_text("".join(f"{name}={value}\n" for name, value in env.items()), encoding="utf-8")
    settings = Settings(state_url=SecretStr(f"{url}/1"), broker_url=SecretStr(f"{url}/0"), namespace="procfile")
    argv = [str(HONCHO), "-f", str(ROOT / "Procfile"), "-d", str(tmp_path), "-e", str(tmp_path / "env"), "start"]
    argv += ["-c", "worker=2,control=1,beat=1"]
    path = os.pathsep.join([str(HONCHO.parent), os.environ["PATH"]])  # where the file's `celery` is
    with (tmp_path / "log").open("wb") as log:
        runner = subprocess.Popen(
            argv, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "PATH": path}
        )
    try:
        with Client(settings) as client:
            prompt = task_prompt(turn("", command("echo it-ran > proof.txt")), turn("done"))
            task_id = client.submit(prompt, working_dir=str(tmp_path), allow=["*"])
            assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.COMPLETED
        assert (tmp_path / "proof.txt").read_text(encoding="utf-8") == "it-ran\n"
        wait_for(build_store(settings).last_sweep_ms, "a sweep that beat ordered")
        here = settings.model_copy(update={"data_dir": tmp_path / "data"})
        wait_for(lambda: len(ready_names(here)) == 3, "two workers and a control worker, each under a name of its own")
        below = psutil.Process(runner.pid).children(recursive=True)
        assert len([one for one in below if "celery" in " ".join(one.cmdline())]) >= 3
        assert is_ours(tmp_path / "data")
        assert {path.name for path in (tmp_path / "data").iterdir()} - {MARK} <= CONTENTS.keys()
        runner.send_signal(signal.SIGTERM)
        runner.wait(PATIENCE_S)
        assert psutil.wait_procs(below, timeout=PATIENCE_S)[1] == []
    finally:
        if runner.poll() is None:
            runner.kill()

"""A worker that starts while its servers are away."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clikit import run_process
from neuraphage.host_health import host_health
from neuraphage.settings import Settings
from stackkit import wait_for

pytestmark = pytest.mark.real_workers


def test_it_is_live_and_not_ready(tmp_path: Path) -> None:
    """It waits for them, which is no illness: a container check would end it, and end it again."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}"
        env = {n: v for n, v in os.environ.items() if not n.startswith(("NEURAPHAGE_", "ANTHROPIC_"))}
        env |= {"NEURAPHAGE_STATE_URL": f"{url}/1", "NEURAPHAGE_BROKER_URL": f"{url}/0", "ANTHROPIC_API_KEY": "k" * 20}
        env["NEURAPHAGE_DATA_DIR"] = str(tmp_path / "data")
        celery = [sys.executable, "-P", "-m", "celery", "-A", "neuraphage.celery_app"]
        argv = [*celery, "worker", "-P", "threads", "-c", "1", "-n", "early@here"]
        with (tmp_path / "log").open("wb") as log:
            worker = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
        try:
            settings = Settings(data_dir=tmp_path / "data")
            wait_for(lambda: [p for p in host_health(settings) if p.live] or worker.poll() is not None, "its health")
            assert worker.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
            (process,) = host_health(settings)
            assert (process.name, process.live, process.ready) == ("early@here", True, False)
            assert process.problems == (
                "the state server takes no writes of it",
                "it takes in no messages from the broker",
            )
            assert run_process("health", "--live", env=env).code == 0
            assert run_process("health", "--ready", env=env).code == 1
        finally:
            worker.send_signal(signal.SIGQUIT)
            worker.wait(60)

"""docker-compose.yml at work: every service's own command, under its environment, seen healthy by its own check."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from base64 import b64encode

import psutil
import pytest
from deployment import Deployment, ran, wait_for
from localcompose import ORDER

from neuraphage.model.task import Status
from patience import PATIENCE_S
from stackkit.scripts import command, task_prompt, turn

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]


def test_every_service_is_healthy_and_a_task_goes_through(deployment: Deployment) -> None:
    """Server, worker, control worker, both beats and Flower; a task that runs a command ends as completed."""
    assert {name for name, _ in deployment.compose.running()} == set(ORDER)
    work = deployment.folder("through")
    with deployment.client() as client:
        prompt = task_prompt(turn("", command("echo it-ran > proof.txt")), turn("done"))
        task_id = client.submit(prompt, working_dir=str(work), allow=["*"])
        assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.COMPLETED
    assert (work / "proof.txt").read_text(encoding="utf-8") == "it-ran\n"


def test_no_password_is_in_a_command_line(deployment: Deployment) -> None:
    """Every user of a machine can read those."""
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert any("valkey-server" in line for line in lines)
    secrets = deployment.passwords.values()
    assert [line for line in lines if any(secret in line for secret in secrets)] == []


def test_the_server_keeps_what_it_is_told_and_asks_for_the_password(deployment: Deployment) -> None:
    """redis.conf as the running server reads it."""
    ask = "valkey-cli config get appendonly appendfsync maxmemory-policy save; REDISCLI_AUTH= valkey-cli ping"
    out = ran(deployment.shell(f"docker compose exec -T redis sh -c '{ask}'")).split()
    settings = dict(zip(out[:6:2], out[1:6:2], strict=True))
    assert settings == {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
    assert out[6:] == ["save", "Authentication", "required."], "no snapshots beside the file, no answer to a stranger"


def flower_status(deployment: Deployment, login: str = "") -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{deployment.ports['flower']}/workers")
    if login:
        request.add_header("Authorization", "Basic " + b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_flower_asks_for_a_login(deployment: Deployment) -> None:
    """Its page can stop workers."""
    password = deployment.passwords["FLOWER_PASSWORD"]
    assert flower_status(deployment) == 401
    assert flower_status(deployment, "admin:wrong") == 401
    assert flower_status(deployment, f"admin:{password}") == 200


def test_each_beat_keeps_a_schedule_of_its_own(deployment: Deployment) -> None:
    """Two that shared a file would lock each other out; each is unhealthy once its file is old."""
    data = deployment.state / "neuraphage-data"
    assert list(data.glob("beat-1*"))
    assert list(data.glob("beat-2*"))
    compose = deployment.compose
    assert compose.healthy("beat-1")
    compose.signal("beat-1", signal.SIGSTOP)
    try:
        os.utime(data / "beat-1.tick", (1.0, 1.0))
        assert not compose.healthy("beat-1")
        assert compose.healthy("beat-2")
    finally:
        compose.signal("beat-1", signal.SIGCONT)
    wait_for(lambda: compose.healthy("beat-1"), "beat to tick again")

"""RUNBOOK.md at work: its very blocks, on the stack of docker-compose.yml, in the cases they are written for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import redis
from deployment import Deployment, ran, wait_for

from neuraphage.client import Client
from neuraphage.errors import StoreError
from neuraphage.model.task import CompletedDetail, Status
from neuraphage.ports import ClaimVerdict, CommitVerdict, FinishTo
from patience import PATIENCE_S
from source_tree import ROOT
from stackkit.scripts import Turn, command, task_prompt, turn
from storekit import new_kit

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
"""The timeout: a test may start the whole stack, and stop and start it once more."""
RUNBOOK = (ROOT / "RUNBOOK.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- run: ([\w-]+) -->\n```sh\n(.*?)\n```\n<!-- end -->", RUNBOOK, re.DOTALL))


def submit(client: Client, folder: Path, *turns: Turn, allow: tuple[str, ...] = ("*",)) -> str:
    return client.submit(task_prompt(*turns, turn("done")), working_dir=str(folder), allow=allow)


def run_block(deployment: Deployment, name: str, task: str = "") -> str:
    return ran(deployment.shell(BLOCKS[name], TASK=task))


def when_waiting(client: Client, task_id: str) -> None:
    client.wait(task_id, timeout_s=PATIENCE_S, until=[Status.WAITING_FOR_USER])


def test_every_command_of_the_runbook_is_in_a_block_that_is_run_here() -> None:
    """No line for a shell escapes, and no block is left out below."""
    assert RUNBOOK.count("```sh\n") == len(BLOCKS)
    used = set(
        re.findall(r'(?:run_block\(deployment, |BLOCKS\[)"([\w-]+)"', Path(__file__).read_text(encoding="utf-8"))
    )
    assert used == set(BLOCKS)


def test_the_first_start(deployment: Deployment, tmp_path: Path) -> None:
    """The example becomes a private file; what runs is shown as healthy; a task can be given."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    ran(deployment.shell(f"cd {tmp_path}\n" + BLOCKS["env"]))
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    started = run_block(deployment, "start")
    assert started.count("healthy") == 7
    assert started.endswith("all well\n")
    shown = run_block(deployment, "submit")
    assert "make the failing tests" in shown
    assert shown.splitlines()[1].split()[:2] == ["task", "status"], "the columns that the text shows"


def test_a_stuck_task(deployment: Deployment) -> None:
    """What it waits for is told, sweeps are seen, and it can be ended."""
    with deployment.client() as client:
        task_id = submit(client, deployment.folder("stuck"), turn("", command("true")), allow=())
        when_waiting(client, task_id)
        shown = run_block(deployment, "stuck", task_id)
        assert "It asks a person" in shown
        assert "neuraphage answer" in shown
        assert "last sweep" in shown
        assert re.search(r"^journal +run_command planned", shown, re.MULTILINE)
        assert "waits for you" in shown
        assert re.search(r"neuraphage\.sweep.* succeeded", run_block(deployment, "sweeps"))
        run_block(deployment, "cancel", task_id)
        assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.CANCELLED


def test_a_dead_worker(deployment: Deployment) -> None:
    """Its container dies with a command in it: the next worker tells the model that the outcome is unknown."""
    work = deployment.folder("dead")
    assert re.search(r"^worker@\S+ \(pid \d+\): ready$", run_block(deployment, "worker"), re.MULTILINE)
    with deployment.client() as client:
        task_id = submit(client, work, turn("", command("echo begun >> log; sleep 300")))
        wait_for((work / "log").exists, "the command")
        deployment.compose.kill("worker")
        run_block(deployment, "revive")
        assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.COMPLETED
        assert "recovered" in run_block(deployment, "stuck", task_id).partition("decisions")[2]
        assert "unknown" in str(client_conversation(deployment, task_id))
    assert (work / "log").read_text(encoding="utf-8") == "begun\n", "an unknown outcome is never repeated"


def client_conversation(deployment: Deployment, task_id: str) -> list[dict[str, object]]:
    with deployment.client() as client:
        return list(client.conversation(task_id))


def test_a_full_server(deployment: Deployment) -> None:
    """It says so, refuses a task whole, and takes it in again once it has room."""
    deployment.shell("docker compose exec -T redis valkey-cli config set maxmemory 1mb")
    shown = run_block(deployment, "full")
    assert "PROBLEM  state memory" in shown
    assert "maxmemory_human:1.00M" in shown
    assert "aof_last_write_status:ok" in shown
    with deployment.client() as client:
        work = deployment.folder("full")
        try:
            with pytest.raises(StoreError, match="takes no new task"):
                submit(client, work)
        finally:
            run_block(deployment, "more")
        task_id = submit(client, work)
        assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.COMPLETED
    run_block(deployment, "rewrite")


def test_a_rolling_deploy(deployment: Deployment) -> None:
    """Tasks go on over it, and nothing runs twice."""
    work = deployment.folder("deploy")
    steps = [turn("", command(f"echo {number} >> log; sleep 0.5")) for number in range(12)]
    with deployment.client() as client:
        task_id = submit(client, work, *steps)
        wait_for((work / "log").exists, "the first step")
        before = {name: deployment.compose.pid(name) for name in ("worker", "control", "beat-1", "beat-2")}
        assert run_block(deployment, "deploy").count("healthy") == 7
        assert all(deployment.compose.pid(name) != pid for name, pid in before.items())
        assert client.wait(task_id, timeout_s=PATIENCE_S).status is Status.COMPLETED
    numbers = (work / "log").read_text(encoding="utf-8").split()
    assert sorted(set(numbers), key=int) == sorted(numbers, key=int) == [str(number) for number in range(12)]


def test_scaling_out(deployment: Deployment) -> None:
    """Worker and control containers share one data folder and one machine, and see no processes of each other: the
    watcher of none ends a command of another."""
    work = deployment.folder("scaled")
    try:
        shown = run_block(deployment, "scale")
        assert len(re.findall(r"^neuraphage-worker-\d .*healthy", shown, re.MULTILINE)) == 2
        with deployment.client() as client:
            # each command is longer than two looks of a watcher at the spool (heartbeat_s)
            step = turn("", command("echo begin >> log; sleep 3; echo end >> log"))
            tasks = [submit(client, work, step) for _ in range(4)]
            assert {client.wait(task_id, timeout_s=PATIENCE_S).status for task_id in tasks} == {Status.COMPLETED}
        assert sorted((work / "log").read_text(encoding="utf-8").split()) == ["begin"] * 4 + ["end"] * 4
    finally:
        deployment.compose.kill("worker", 2)


def test_backup_and_restore(deployment: Deployment) -> None:
    """A backup while tasks run; then the server dies with its data. All tasks go on from what the backup knows."""
    work = deployment.folder("backup")
    holding = "echo begun >> log; until test -e gate; do sleep 0.05; done; echo ended >> log"
    with deployment.client() as client:
        asked = submit(client, work, turn("", command("echo asked >> asked")), allow=())
        when_waiting(client, asked)
        running = submit(client, work, turn("", command(holding)))
        wait_for((work / "log").exists, "the command")
        kit = new_kit(redis.Redis(port=deployment.ports["redis"], password=deployment.password, db=1))
        fenced = kit.create()
        run_block(deployment, "backup")
        # after the backup: the command ends, a person answers, a task is submitted, a lease is granted
        late = kit.claim(fenced, process="p1")
        (work / "gate").touch()
        assert client.wait(running, timeout_s=PATIENCE_S).status is Status.COMPLETED
        client.answer(asked, "yes", prompt_id=client.get(asked).prompts[0].prompt_id)
        assert client.wait(asked, timeout_s=PATIENCE_S).status is Status.COMPLETED
        newer = submit(client, work)
    deployment.compose.kill("redis")
    shutil.rmtree(deployment.state / "redis-data")
    (deployment.state / "redis-data").mkdir()
    run_block(deployment, "restore")
    with deployment.client() as client:
        assert client.wait(running, timeout_s=PATIENCE_S).status is Status.COMPLETED
        assert (work / "log").read_text(encoding="utf-8") == "begun\nended\n", (
            "its end was read from the spool; it did not run again"
        )
        when_waiting(client, asked)
        client.answer(asked, "yes", prompt_id=client.get(asked).prompts[0].prompt_id)
        assert isinstance(client.wait(asked, timeout_s=PATIENCE_S).detail, CompletedDetail)
        assert not [record for record in client.list(limit=100) if record.task_id == newer]
    # fences: the same number again, and the lease of before the restore is refused
    again = kit.try_claim(fenced, process="p2")
    assert again.verdict is ClaimVerdict.GRANTED
    assert again.lease is not None
    assert again.lease.fence == late.fence
    assert kit.finish(late, FinishTo.NEXT).verdict is CommitVerdict.STALE
    assert kit.finish(again.lease, FinishTo.NEXT).verdict is CommitVerdict.COMMITTED

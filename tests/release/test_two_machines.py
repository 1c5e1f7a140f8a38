"""One task, two people on two machines: each has a home and a folder of its own, and the URL of one server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clikit import run_process
from devstack import DevStack
from neuraphage.dev.address import STATE_DB

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
ALLOWED = ("--allow", "edit", "--allow", "run_command")


def machine(stack: DevStack, home: Path) -> dict[str, str]:
    """The environment of a person who has been given one URL."""
    with stack.client() as client:
        broker_url = client.settings.broker_url.get_secret_value()
    home.mkdir()
    url = f"{broker_url.rpartition('/')[0]}/{STATE_DB}"
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NEURAPHAGE_STATE_URL": url}


def test_one_submits_and_the_other_answers(stack: DevStack, tmp_path: Path) -> None:
    """What one machine starts, the other finds, answers and sees to its end; nothing of it is kept on either."""
    ours, theirs = machine(stack, tmp_path / "ours"), machine(stack, tmp_path / "theirs")
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("value=20\n", encoding="utf-8")
    (project / "b.txt").write_text("value=22\n", encoding="utf-8")
    submitted = run_process("submit", "Add up the numbers.", "--dir", str(project), *ALLOWED, env=ours)
    assert submitted.code == 0, submitted.err
    task_id = submitted.out.strip()
    assert run_process("attach", task_id, env=ours).code == 3
    waiting = run_process("list", "--status", "WaitingForUser", "--json", env=theirs).json
    (found,) = (task for task in waiting if task["spec"]["task_id"] == task_id)
    assert [prompt["tool"] for prompt in found["prompts"]] == ["write_file"]
    assert found["prompts"][0]["params"] == {"path": "total.txt", "content": "42\n"}
    assert run_process("answer", task_id, found["prompts"][0]["prompt_id"], "yes", env=theirs).code == 0
    assert run_process("attach", task_id, env=theirs).code == 0
    assert run_process("show", task_id, "--json", env=ours).json["status"] == "Completed"
    assert (project / "copy.txt").read_text(encoding="utf-8") == "42\n"
    assert [path for home in (ours, theirs) for path in Path(home["HOME"]).rglob("*")] == []

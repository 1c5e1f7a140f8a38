"""`eval "$(neuraphage env)"` in a shell leads celery and Flower to the stack that `neuraphage dev` runs."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clikit import SCRIPT
from devstack import LIMIT_S, DevStack, wait_for
from stackkit.flower import running_flower

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PING = ("-m", "celery", "-A", "neuraphage.celery_app", "inspect", "ping", "--json")


@pytest.fixture(scope="module")
def stack() -> Iterator[DevStack]:
    """A stack with a namespace of its own, which nobody finds by the defaults."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        made = DevStack(Path(folder), ("--workers", "2", "--script", "runscript:play"))
        made.env["NEURAPHAGE_NAMESPACE"] = "of-this-test"
        try:
            made.start()
            yield made
        finally:
            made.kill()


def after_eval(stack: DevStack, *argv: str) -> Any:
    """The JSON that a program writes in a shell that knows of the stack by `neuraphage env` alone."""
    env = {name: value for name, value in stack.env.items() if name != "NEURAPHAGE_NAMESPACE"}
    env["PATH"] = os.pathsep.join([str(Path(SCRIPT).parent), env["PATH"]])
    words = ["sh", "-euc", 'eval "$(neuraphage env)"; exec "$@"', "sh", *argv]
    ran = subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def workers_of(stack: DevStack) -> set[str]:
    """Names of its workers, as `health` has them."""
    return {process["name"] for process in stack.cli("health", "--json").json["processes"]}


def test_celery_finds_the_workers(stack: DevStack) -> None:
    """Those of this stack answer, and no others."""
    names = wait_for(lambda: workers_of(stack), "the workers")
    answers = after_eval(stack, sys.executable, *PING)
    assert answers == {name: {"ok": "pong"} for name in names}
    assert len(names) == 3  # two that take turns, and control


def test_flower_finds_the_workers(stack: DevStack, tmp_path: Path) -> None:
    """Started in such a shell, it shows them."""
    env = after_eval(stack, sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
    with running_flower(env, tmp_path, secrets.token_urlsafe(12)) as flower:
        wait_for(lambda: set(flower.workers()) == workers_of(stack), "Flower to hear of the workers")

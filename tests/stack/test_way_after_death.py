"""A command in the sandbox whose worker is killed: it gets its way to the network back from the next worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from neuraphage.model.task import Status
from proxykit import web_server
from sandboxkit import find_bubblewrap
from stackkit import Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
FETCH = (
    "import sys, urllib.error, urllib.request\n"
    "try: print('reached', urllib.request.urlopen(sys.argv[1]).status, flush=True)\n"
    "except urllib.error.HTTPError as error: print(error.code, flush=True)\n"
)


@pytest.fixture
def port() -> Iterator[int]:
    """Of a web server outside of the sandbox."""
    find_bubblewrap()
    with web_server() as number:
        yield number


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_the_next_worker_gives_a_command_its_way_back(stack: Stack, port: int, pool: str) -> None:
    """kill -9 while a command asks a server again and again. Until another worker attaches it is told that the proxy is
    gone; from then on it reaches what it was started with, although that worker's own settings list another host."""
    worker = stack.start_worker(pool=pool, allow_hosts=f"127.0.0.1:{port}")
    line = f"while [ ! -e go ]; do {sys.executable} - http://127.0.0.1:{port}/ >> log.txt <<'E'\n{FETCH}E\ndone"
    task = stack.submit(task_prompt(turn("run", command(line)), turn("done")))
    log = stack.work_dir(task) / "log.txt"

    def last(word: str) -> bool:
        return log.exists() and log.read_text(encoding="utf-8").splitlines()[-1:] == [word]

    wait_for(lambda: last("reached 200"), "the command to reach the server")
    worker.kill()
    wait_for(lambda: last("502"), "the command to be without a way")
    stack.start_worker(pool=pool, allow_hosts="other.example")
    wait_for(lambda: last("reached 200"), "the command to reach the server again")
    assert stack.events(task, "ToolAttached")
    (stack.work_dir(task) / "go").touch()
    (record,) = stack.finished(task)
    assert record.status is Status.COMPLETED

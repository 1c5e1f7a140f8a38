"""The person's own command and local address: told of prompts that open or wait, bounded, and without secrets."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from apikit import ApiBench
from devstack import wait_for
from neuraphage import prompt_notices
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import TaskRecord
from neuraphage.ports import NoticeMark
from neuraphage.prompt_notices import LocalNotices, Outside
from neuraphage.runtime.notice_desk import NoticeDesk
from neuraphage.settings import Settings

PROMPT = Prompt(
    prompt_id="p1", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS, tool="run_command",
    params_summary="command='make\u202e'",
)  # fmt: skip
WRITER = """
import json, os, sys
with open({path!r}, "a") as file:
    file.write(json.dumps([json.load(sys.stdin), dict(os.environ)]) + chr(10))
"""


@pytest.fixture
def record() -> TaskRecord:
    """A task that asks."""
    bench = ApiBench()
    return bench.api.get(bench.api.submit("do it", name="A \x1b[31mname"))


class Marks:
    """Implements ports.NoticeStore in memory: of one task, whose prompts are all open."""

    def __init__(self, record: TaskRecord) -> None:
        self.record = record
        self.marks: dict[tuple[str, str], NoticeMark] = {}

    def now_ms(self) -> int:
        return 10**6

    def waiting_tasks(self, limit: int) -> list[tuple[str, int]]:
        return [(self.record.task_id, 1)][:limit]

    def get(self, task_id: str) -> TaskRecord:
        return self.record

    def notice_marks(self, task_id: str, wanted: Sequence[tuple[str, str]]) -> list[NoticeMark]:
        return [self.marks.get(one, NoticeMark.NONE) for one in wanted]

    def begin_notice(self, task_id: str, prompt_id: str, event: str, hold_ms: int) -> NoticeMark:
        before = self.marks.get((prompt_id, event), NoticeMark.NONE)
        self.marks[prompt_id, event] = before or NoticeMark.TELLING
        return before

    def end_notice(self, task_id: str, prompt_id: str, event: str, keep_ms: int) -> None:
        self.marks[prompt_id, event] = NoticeMark.TOLD


def local(record: TaskRecord, argv: Sequence[str], url: str | None = None, wait_s: float | None = None) -> LocalNotices:
    """Notices of a task by a command or an address."""
    return LocalNotices(NoticeDesk(Marks(record), Outside(argv, url).tell, wait_s))


def written(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def command(path: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", WRITER.format(path=str(path)))


def test_a_command_gets_the_facts_and_no_secret(
    record: TaskRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JSON and as variables; of the worker's environment it gets only what a desktop needs."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "pa55word")
    local(record, command(tmp_path / "out")).opened(record, [PROMPT])
    ((told, variables),) = wait_for(lambda: written(tmp_path / "out"), "the command")
    assert told["event"] == "opened"
    assert (told["task_id"], told["prompt_id"], told["kind"]) == (record.task_id, "p1", "permission")
    assert told["asks"] == "run_command: command='make<U+202E>'"
    assert told["task_name"] == "A <U+001B>[31mname"
    assert variables["PROMPT_EVENT"] == "opened"
    assert variables["PROMPT_ID"] == "p1"
    assert variables["PROMPT_TASK_ID"] == record.task_id
    assert "pa55word" not in str(variables)


def test_what_is_due_is_told_by_a_look(record: TaskRecord, tmp_path: Path) -> None:
    """In the background, and once, however often it is looked."""
    asking = record.model_copy(update={"prompts": (PROMPT,)})
    notices = local(asking, command(tmp_path / "out"), wait_s=0.3)
    for _ in range(3):
        notices.look()
        wait_for(lambda: notices._thread is None, "the end of the thread")
    assert [(one["event"], one["prompt_id"]) for one, _ in written(tmp_path / "out")] == [("waiting", "p1")]


def test_what_fails_unexpectedly_ends_no_notice(record: TaskRecord, caplog: pytest.LogCaptureFixture) -> None:
    """The next one is told by the same thread."""
    told: list[str] = []

    def tell(notice: dict[str, Any]) -> None:
        told.append(notice["prompt_id"])
        if notice["prompt_id"] == "p1":
            raise RuntimeError("a bug")

    notices = LocalNotices(NoticeDesk(Marks(record), tell, None))
    notices.opened(record, [PROMPT, PROMPT.model_copy(update={"prompt_id": "p2"})])
    wait_for(lambda: notices._thread is None, "the end of the thread")
    assert told == ["p1", "p2"]
    assert "failed unexpectedly" in caplog.text


def test_a_command_that_hangs_is_ended(
    record: TaskRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With what it has started; those that fail or are not there are told in the log, and the next ones run."""
    monkeypatch.setattr(prompt_notices, "NOTICE_LIMIT_S", 0.5)
    hanging = ("/bin/sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; wait")
    for argv in (hanging, ("/no/such/program",), ("/bin/sh", "-c", "exit 3")):
        notices = local(record, argv)
        notices.opened(record, [PROMPT])
        wait_for(lambda notices=notices: notices._thread is None, "the end of the thread")  # type: ignore[misc]  # the loop's own
    assert [one.levelname for one in caplog.records] == ["WARNING"] * 3
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    stat = Path(f"/proc/{pid}/stat")
    wait_for(lambda: not stat.exists() or " Z " in stat.read_text(encoding="utf-8"), "its end")


def test_there_is_a_bound(record: TaskRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many prompts wait to be told of."""
    monkeypatch.setattr(prompt_notices, "MOST_NOTICES", 3)
    notices = local(record, ("/bin/true",))
    monkeypatch.setattr(notices, "_begin", lambda: None)
    notices.opened(record, [PROMPT] * 9)
    notices.look()
    assert notices._due.qsize() == 3


class Taker(BaseHTTPRequestHandler):
    """Takes what is posted; redirects to itself where it is asked to."""

    def do_POST(self) -> None:
        self.server.got.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))  # type: ignore[attr-defined]  # of this test
        self.send_response(302 if self.path == "/away" else 204)
        self.send_header("Location", "/here")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def taker() -> Iterator[Any]:
    """A server of this machine; `got` is what it was sent."""
    server: Any = HTTPServer(("127.0.0.1", 0), Taker)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_address_is_posted_to(record: TaskRecord, taker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through no proxy, and no redirect is followed."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for path in ("here", "away"):
        url = f"http://127.0.0.1:{taker.server_port}/{path}"
        notices = local(record, (), url)
        notices.opened(record, [PROMPT])
        wait_for(lambda notices=notices: notices._thread is None, "the end of the thread")  # type: ignore[misc]  # the loop's own
    assert [path for path, _ in taker.got] == ["/here", "/away"]
    assert taker.got[0][1]["prompt_id"] == "p1"


@pytest.mark.parametrize(
    "values",
    [
        {"prompt_url": "https://127.0.0.1/x"},
        {"prompt_url": "http://example.com/"},
        {"prompt_url": "http://127.0.0.1.example.com/"},
        {"prompt_url": "http://me:secret@127.0.0.1/"},
        {"prompt_url": "http://10.0.0.1/"},
        {"prompt_url": "http://127.0.0.1:port/"},
        {"prompt_url": "file:///etc/passwd"},
        {"prompt_command": [""]},
        {"prompt_command": ["a\0b"]},
        {"prompt_wait_s": 0},
    ],
)
def test_settings_that_are_refused(values: dict[str, Any]) -> None:
    """What leaves this machine, or could not run."""
    with pytest.raises(ValueError, match="prompt_"):
        Settings(**values)


def test_settings_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of words in files, one text in a variable; every form of this machine's address."""
    monkeypatch.setenv("NEURAPHAGE_PROMPT_COMMAND", "notify-send 'a prompt' -u low")
    assert Settings().prompt_command == ("notify-send", "a prompt", "-u", "low")
    for url in ("http://localhost:8000/x", "http://[::1]/", "http://127.9.9.9:1/"):
        assert Settings(prompt_url=url).prompt_url == url


def test_a_project_may_not_set_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file would run code of a cloned repository in every worker."""
    monkeypatch.chdir(tmp_path)
    for line in ('prompt_command = ["x"]', 'prompt_url = "http://localhost"', "prompt_signal = false"):
        (tmp_path / "neuraphage.toml").write_text(line, encoding="utf-8")
        with pytest.raises(Exception, match="a project's file may not set this"):
            Settings()

"""`run_turns`: runs a task with tools of one's own on a real server, and kills its workers at chosen markers.

    def test_a_customer_is_charged_once(run_turns, bank) -> None:
        replies = [reply(tools=[("charge", {"customer": "ada", "cents": 300})]), "Done."]
        for kill in run_turns.every_kill([charge], replies):
            before = bank.charges("ada")
            ran = run_turns([charge], replies, kills=[kill])
            assert ran.status == "Completed"
            assert bank.charges("ada") == before + 1

Workers are forked children, ended by SIGKILL: what a tool changes must be outside of the process to be seen, in a file,
a server, a database.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from neuraphage.client_wiring import new_task_id
from neuraphage.decide.conversation import final_text, tool_calls
from neuraphage.dev.address import ServerAddress
from neuraphage.model.event import Event
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import OnUnknownOutcome, Status, TaskRecord, TaskSpec
from neuraphage.ports import Tool
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store import queries
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.marker_kills import KillAt, kills_of
from neuraphage.testing.scripted_api.script import Script, ScriptedReply
from neuraphage.testing.scripted_model import ScriptedModel
from neuraphage.testing.turn_process import TurnProcess, recover

LIMIT_S = 120.0
"""Longest life of one worker process."""
Replies = Sequence[ScriptedReply | str] | Script


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call of a tool, and what the model was told of it."""

    tool: str
    params: dict[str, Any]
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class RanTask:
    """A task that is over, or waits for a person.

    Args:
        record: as stored.
        calls: every call that has a result, in order.
        entries: the conversation as stored.
        events: its history.
    """

    record: TaskRecord
    calls: tuple[ToolRun, ...]
    entries: tuple[dict[str, Any], ...]
    events: tuple[Event, ...]

    @property
    def status(self) -> Status:
        """Where the task stands."""
        return self.record.status

    @property
    def last_text(self) -> str:
        """What the model said last; empty when it said nothing."""
        replies = [entry["content"] for entry in self.entries if entry["role"] == "assistant"]
        return final_text(replies[-1]) if replies else ""


class RunTurns:
    """Runs tasks of a test.

    Args:
        server: an embedded server.
        folder: for everything else, a new one for each test.
    """

    def __init__(self, server: ServerAddress, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def __call__(
        self,
        tools: Sequence[Tool],
        replies: Replies,
        *,
        kills: Sequence[KillAt | str] = (),
        prompt: str = "Go.",
        working_dir: Path | None = None,
        allow: Sequence[str] = ("*",),
        answer: Callable[[Prompt], str] | None = None,
        on_unknown_outcome: OnUnknownOutcome = OnUnknownOutcome.TELL_MODEL,
        **settings: Any,
    ) -> RanTask:
        """Run one task; each worker process dies at its kill, one more goes on to the end.

        Args:
            tools: the test's tools; the built-in ones are there, too.
            replies: of the model, one a turn; or a script.
            kills: where the processes die, one after the other, such as `tool_started.after`.
            prompt: of the task.
            working_dir: of the task.
            allow: tools that nobody is asked about; all by default.
            answer: what a person says to a prompt; without it the run ends where one is open.
            on_unknown_outcome: what happens when nothing knows whether a call ran.
            settings: of the worker processes, by their names.

        Raises:
            AssertionError: a process failed, was stuck, or never came to its kill.
            BadInput: a kill is none.
        """
        wanted = [KillAt.parse(kill) if isinstance(kill, str) else kill for kill in kills]
        spec = TaskSpec(
            task_id=new_task_id(),
            name="run_turns",
            prompt=prompt,
            model="claude-sonnet-5-5",
            working_dir=None if working_dir is None else str(working_dir.resolve()),
            allow=tuple(allow),
            on_unknown_outcome=on_unknown_outcome,
        )
        process = TurnProcess(self._settings(settings), tools, ScriptedModel(replies), answer, self._folder / "notes")
        return self._run(spec, process, wanted)

    def every_kill(self, tools: Sequence[Tool], replies: Replies, **options: Any) -> list[KillAt]:
        """Run a task once without kills, and list every kill that it can be run with.

        Args:
            tools, replies, options: as of a run.
        """
        notes = self._folder / "notes"
        notes.unlink(missing_ok=True)
        self(tools, replies, **options)
        return kills_of(notes)

    def _run(self, spec: TaskSpec, process: TurnProcess, kills: Sequence[KillAt]) -> RanTask:
        settings = process.settings
        store = RedisStore(settings, SystemClock())
        store.create(spec, spec.task_id)
        for kill in [*kills, None]:
            process.notes.unlink(missing_ok=True)
            trouble = self._folder / "trouble"
            code = _forked(lambda kill=kill: process.work(spec.task_id, kill), trouble)  # type: ignore[misc]  # a bound loop variable
            if kill is not None and code == 0:
                had = ", ".join(map(str, kills_of(process.notes)))
                raise AssertionError(f"{kill} was never reached; the process had: {had}")
            if code not in (0, -signal.SIGKILL):
                raise AssertionError(f"a worker process failed ({code}):\n{trouble.read_text(encoding='utf-8')}")
            if code != 0:
                recover(settings, spec.task_id)
        return _ran(store, spec.task_id)

    def _settings(self, chosen: Mapping[str, Any]) -> Settings:
        return Settings(
            state_url=SecretStr(self._server.state_url),
            broker_url=SecretStr(self._server.broker_url),
            namespace=f"test-{secrets.token_hex(6)}",
            data_dir=self._folder,
            **chosen,
        )


def _ran(store: RedisStore, task_id: str) -> RanTask:
    entries = queries.conversation(store.context, task_id)
    replies = [entry["content"] for entry in entries if entry["role"] == "assistant"]
    calls = {call.tool_use_id: call for content in replies for call in tool_calls(content)}
    runs = [
        ToolRun(calls[b["tool_use_id"]].name, calls[b["tool_use_id"]].params, b["content"], bool(b.get("is_error")))
        for entry in entries
        for b in entry["content"]
        if b["type"] == "tool_result"
    ]
    return RanTask(store.get(task_id), tuple(runs), tuple(entries), tuple(queries.events(store.context, task_id)))


def _forked(work: Callable[[], None], trouble: Path) -> int:
    """Run work in a forked child.

    Returns:
        0, or minus the signal that ended it, or 1 when it raised: then the file has the trace.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # the parent may have threads; the child uses none of theirs
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent tells it
            trouble.write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            os._exit(code)
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"a worker process was not done after {LIMIT_S:g} s")

"""The application service without any room: what every surface may ask, carried out over ports alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apikit import ApiBench
from neuraphage.client_wiring import api_ports
from neuraphage.decide.approved_file import as_evidence
from neuraphage.decide.selection import Selection, Sort
from neuraphage.errors import BadInput, StackError, TaskNotFound
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.model.tool import FileSight, SightKind
from neuraphage.ports import SignalKind
from neuraphage.settings import Settings

ROOMS = ("redis", "celery", "kombu", "anthropic", "asyncio", "neuraphage.store", "neuraphage.runtime", "neuraphage.dev")


@pytest.fixture
def bench() -> ApiBench:
    """A service of this test alone."""
    return ApiBench()


def test_it_imports_no_room() -> None:
    """A surface that takes the service gets no server, broker or event loop along, nor what only requests need."""
    program = "import sys, neuraphage.api; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())
    assert "neuraphage.api.application" in imported
    late = {f"neuraphage.{name}" for name in ("api.service", "model.recovery", "decide.why", "decide.approved_file")}
    assert not imported & {*ROOMS, *late}


def test_a_new_task(bench: ApiBench) -> None:
    """What carries its message is made before it is stored; secrets go out; settings fill what is not given."""
    task_id = bench.api.submit("my pa55word", tags=["a pa55word"], max_cost_usd=2)
    spec = bench.api.get(task_id).spec
    assert (spec.prompt, spec.name, spec.tags) == ("my ***", "my ***", ("a ***",))
    assert spec.limits.max_cost_microusd == 2_000_000
    assert (spec.model, spec.max_tokens) == (bench.ports.settings.default_model, bench.ports.settings.max_tokens)
    assert bench.waker.calls == ["prepare", "check", "publish task_created"]


def test_requests_find_the_task_by_a_part_of_its_id(bench: ApiBench) -> None:
    """Every one of them, and each sends its own kind of signal, under a key of its own unless one is given."""
    task_id = bench.api.submit("do it")
    part, api = task_id[5:13], bench.api
    api.send(part, "hello", key="mine")
    api.pause(part)
    api.resume(part)
    api.cancel(part, reason="enough")
    api.retry(part, max_turns=7)
    api.reset(part)
    api.limit(part, max_turns=9)
    api.set_model(part, "expert", reason="stuck")
    kinds = ["input", "pause", "resume", "cancel", "retry", "reset", "limit", "model"]
    assert [sent.kind.value for sent in bench.rows.sent] == kinds
    assert bench.rows.sent[0].key == "mine"
    assert len({sent.key for sent in bench.rows.sent}) == len(kinds)
    assert bench.waker.calls[-1] == "check", "a limit or a model moves no task, so it wakes no worker"


def test_reads_make_no_redaction_and_no_waker(bench: ApiBench) -> None:
    """Most callers read; what only a request needs is not even asked for."""
    bench.api.submit("x")
    bench.redactions.clear()
    bench.waker.calls.clear()
    (record,) = bench.api.list()
    newest = Selection(sort=Sort.CREATED, reverse=True)
    assert [found.task_id for found in bench.api.select(newest)] == [record.task_id]
    assert bench.api.counts() == {"Queued": 1}
    assert bench.api.why(record.task_id).status is Status.QUEUED
    assert [line.kind for line in bench.api.history(record.task_id)] == ["TaskCreated"]
    assert (bench.redactions, bench.waker.calls) == ([], [])


def test_the_end_closes_everything_once(bench: ApiBench) -> None:
    """What was made for wake-ups, then the connections of the store."""
    with bench.api:
        pass
    assert (bench.waker.calls, bench.closed) == (["close"], ["store"])


def test_a_task_put_back_by_hand_is_told_in_the_report(bench: ApiBench) -> None:
    """With who did it, and how the task stood before."""
    task_id = bench.api.submit("x")
    bench.api.put_back(bench.api.get(task_id), "retry")
    assert [sent.kind for sent in bench.rows.sent] == [SignalKind.RETRY]
    (note,) = bench.rows.noted
    assert (note.task_id, note.verdict, note.evidence) == (task_id, "retry", "person")
    assert "Queued" in (note.reason or "")


@pytest.mark.parametrize(("same", "found"), [(True, 0), (False, 1), (None, 0)])
def test_a_file_that_is_another_one_than_was_asked_about(bench: ApiBench, same: bool | None, found: int) -> None:
    """It is found by the evidence in the journal; a file that cannot be read here is not called changed."""
    record = bench.api.get(bench.api.submit("x", working_dir="/project"))
    permission = Prompt(
        prompt_id="p", kind=PromptKind.PERMISSION, text="?", options=PERMISSION_OPTIONS, tool="edit", tool_use_id="c1"
    )
    asking = record.model_copy(update={"prompts": (permission,)})
    bench.rows.read.clear()
    assert bench.api.changed_since_asked(record) == frozenset()
    assert bench.rows.read == [], "nothing is read for a task that asks nothing"
    assert bench.api.changed_since_asked(asking) == frozenset()
    assert "conversation" not in bench.rows.read, "nor a conversation for calls that are about no file"
    sight = FileSight(path="a.txt", sha256="0", kind=SightKind.READ)
    entry = ToolEffect(key="c1", state=EffectState.PLANNED, evidence=as_evidence(sight))
    bench.rows.journals[record.task_id] = {"c1": entry}
    bench.files.same = same
    assert len(bench.api.changed_since_asked(asking)) == found
    bench.files.here = False
    assert bench.api.changed_since_asked(asking) == frozenset()


def test_what_cannot_be_asked(bench: ApiBench) -> None:
    """A whole id of no task, and a text that is no event id: told before anything is sent."""
    with pytest.raises(TaskNotFound):
        bench.api.get("task-0000ffff-0000-7000-8000-000000000000")
    with pytest.raises(BadInput, match="no event id"):
        bench.api.history(bench.api.submit("x"), after="yesterday")


def test_how_a_stack_is_found_is_given_to_it() -> None:
    """Without settings the composition asks whom it was told to ask; with settings nobody."""

    def find() -> Settings:
        raise StackError("asked")

    with pytest.raises(StackError, match="asked"):
        api_ports(find=find)
    assert api_ports(Settings(namespace="given"), find).settings.namespace == "given"

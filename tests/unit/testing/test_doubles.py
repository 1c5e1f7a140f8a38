"""The public test doubles do what suites rely on."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import neuraphage.testing
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status, TaskSpec
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.settings import Settings
from neuraphage.store import invariant
from neuraphage.testing import CrashInjector, CrashPoint, ManualClock, Recorder, Side, crash_points, recordable
from neuraphage.testing import fake_store as make_store
from neuraphage.testing.crash import ANY_CALL
from neuraphage.tools.registry import StaticToolBox


class Died(Exception):
    """Stands for the end of the process."""


class Queue:
    """A dispatcher that remembers what it sent."""

    label = "a queue"

    def __init__(self):
        self.sent = []

    def publish_turn(self, task_id, iteration, seq, after=""):
        if task_id == "refused":
            raise ConnectionError("refused")
        self.sent.append((task_id, iteration, seq))
        return True

    def queue_length(self):
        return len(self.sent)


def injected(point):
    """A queue behind an injector of this point that raises Died."""

    def die():
        raise Died

    injector, queue = CrashInjector(point, die), Queue()
    return injector.dispatcher(queue), queue


def test_the_clock_stands_until_it_is_moved():
    """Both times move together by advance, and the wall alone by set_wall_ms."""
    clock = ManualClock(boottime_s=5.0, wall_ms=1_000)
    assert (clock.boottime_s(), clock.boottime_s(), clock.wall_ms()) == (5.0, 5.0, 1_000)
    clock.advance(1.5)
    assert (clock.boottime_s(), clock.wall_ms()) == (6.5, 2_500)
    clock.set_wall_ms(7)
    assert (clock.boottime_s(), clock.wall_ms()) == (6.5, 7)


@pytest.mark.parametrize("step_s", [-0.1, float("nan"), float("inf")])
def test_boot_time_never_goes_back(step_s):
    """A negative step, or one of no length, is refused, and nothing moves."""
    clock = ManualClock(boottime_s=5.0)
    with pytest.raises(ValueError, match="never goes back"):
        clock.advance(step_s)
    assert clock.boottime_s() == 5.0


def test_a_fake_store_runs_the_real_scripts(fake_store, manual_clock):
    """A task is created and read back; the clock is the fixture's; each store is empty and alone."""
    task_id = "task-00000000-0000-7000-8000-000000000001"
    spec = TaskSpec(task_id=task_id, name="A", prompt="Do it.", model="m")
    assert fake_store.create(spec, "key")[:2] == (True, task_id)
    assert fake_store.create(spec, "key")[:2] == (False, task_id)
    assert fake_store.get(task_id).status is Status.QUEUED
    assert invariant.violations(fake_store.context) == []
    assert fake_store.clock is manual_clock
    other = make_store(Settings(namespace="other"))
    assert other.context.keys.prefix == "np:{other}:"
    assert list(other.context.client.scan_iter()) == []


def test_a_missing_fakeredis_is_named(monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "fakeredis", None)
    with pytest.raises(ImportError, match=r"pip install 'fakeredis\[lua\]'"):
        make_store()


def test_the_scripted_server_fixture_serves(scripted_server):
    """It runs, and nothing has reached it."""
    assert scripted_server.url.startswith("http://127.0.0.1:")
    assert scripted_server.log()["totals"]["received"] == 0


def test_calls_are_recorded_by_name_and_order():
    """Numbers count all calls, occurrences those of one name; what is no method of the port passes by."""
    recorder, queue = Recorder(), Queue()
    wrapped = recorder.dispatcher(queue)
    assert wrapped.publish_turn("t", 0, seq=1) is True
    assert wrapped.queue_length() == 1
    assert wrapped.publish_turn("t", 1, 2) is True
    assert wrapped.label == "a queue"
    assert [str(call) for call in recorder.calls] == [
        "Dispatcher.publish_turn#1",
        "Dispatcher.queue_length#1",
        "Dispatcher.publish_turn#2",
    ]
    assert [call.number for call in recorder.calls] == [1, 2, 3]
    assert queue.sent == [("t", 0, 1), ("t", 1, 2)]


def test_a_call_that_raises_is_recorded_too():
    """The target's exception reaches the caller unchanged."""
    recorder = Recorder()
    with pytest.raises(ConnectionError, match="refused"):
        recorder.dispatcher(Queue()).publish_turn("refused", 0, 1)
    assert len(recorder.calls) == 1


def test_a_paused_recorder_lets_calls_through():
    """They happen, and are not counted."""
    recorder, queue = Recorder(), Queue()
    wrapped = recorder.dispatcher(queue)
    recorder.pause()
    wrapped.publish_turn("t", 0, 1)
    recorder.resume()
    wrapped.publish_turn("t", 1, 2)
    assert len(queue.sent) == 2
    assert [str(call) for call in recorder.calls] == ["Dispatcher.publish_turn#1"]


def test_threads_do_not_lose_calls():
    """Every call gets its own number."""
    recorder = Recorder()
    wrapped = recorder.dispatcher(Queue())
    threads = [threading.Thread(target=lambda: [wrapped.queue_length() for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call.number for call in recorder.calls] == list(range(1, 801))
    assert sorted(call.occurrence for call in recorder.calls) == list(range(1, 801))


def test_tools_are_recorded_with_their_names():
    """prepare, run and probe are; check and the declaration are not; an unknown tool stays unknown."""

    class Bell:
        declaration = ToolDeclaration(
            name="bell",
            description="Rings.",
            input_schema={},
            effect_class=EffectClass.OPAQUE,
            side_effecting=True,
            timeout_s=1,
        )
        check = staticmethod(lambda params: None)
        prepare = staticmethod(lambda params, context: {})
        run = staticmethod(lambda params, context: ToolResult(text="ding"))
        probe = staticmethod(lambda params, evidence, context: None)

    recorder = Recorder()
    box = recorder.tools(StaticToolBox([Bell()]))
    bell = box.get("bell")
    assert box.get("gong") is None
    assert [d.name for d in box.declarations()] == [bell.declaration.name] == ["bell"]
    bell.check({})
    bell.prepare({}, None)
    assert bell.run({}, None).text == "ding"
    bell.probe({}, {}, None)
    assert [call.name for call in recorder.calls] == ["Tool.prepare:bell", "Tool.run:bell", "Tool.probe:bell"]


def test_recordable_names_every_method_of_the_ports():
    """Samples of each port, and nothing that is no effect."""
    names = recordable()
    assert {"TurnStore.commit", "SweepStore.recover", "TaskStore.signal", "Spool.seal", "Tool.run"} <= names
    assert {"ModelClient.call", "Dispatcher.publish_turn", "SpoolWatch.revoke"} <= names
    assert not {name for name in names if "__" in name or name in ("Tool.check", "Tool.declaration")}


@pytest.mark.parametrize(("side", "sent"), [(Side.BEFORE, 1), (Side.AFTER, 2)])
@pytest.mark.parametrize(("name", "number"), [("Dispatcher.publish_turn", 2), (ANY_CALL, 3)])
def test_death_comes_at_the_point_only(name, number, side, sent):
    """Earlier calls pass; before: nothing of the call happened; after: all of it did."""
    wrapped, queue = injected(CrashPoint(name, number, side))
    wrapped.publish_turn("t", 0, 1)
    wrapped.queue_length()
    with pytest.raises(Died):
        wrapped.publish_turn("t", 1, 2)
    assert len(queue.sent) == sent


def test_death_after_a_call_that_raised():
    """The side after is reached also when the target failed."""
    wrapped, _ = injected(CrashPoint("Dispatcher.publish_turn", 1, Side.AFTER))
    with pytest.raises(Died):
        wrapped.publish_turn("refused", 0, 1)


def test_an_injector_without_a_point_never_dies():
    """It only records."""
    wrapped, queue = injected(None)
    wrapped.publish_turn("t", 0, 1)
    assert queue.sent == [("t", 0, 1)]


def test_points_are_written_and_read():
    """Names survive a round trip, also those with dots and colons; both sides of each call are enumerated."""
    recorder = Recorder()
    recorder.dispatcher(Queue()).queue_length()
    points = crash_points(recorder.calls)
    assert [str(p) for p in points] == ["Dispatcher.queue_length#1.before", "Dispatcher.queue_length#1.after"]
    for point in [*points, CrashPoint("Tool.run:edit", 12, Side.AFTER)]:
        assert CrashPoint.parse(str(point)) == point


@pytest.mark.parametrize(
    "text", ["", "x", "TurnStore.commit.after", "TurnStore.commit#x.after", "a#1.during", "a#0.before", "a#².after"]
)
def test_a_misspelt_point_is_refused(text):
    """The error shows the form."""
    with pytest.raises(ValueError, match=r"TurnStore\.commit#3\.after"):
        CrashPoint.parse(text)


def test_public_names_are_all_there():
    """Each name in __all__ loads; others are told plainly."""
    assert all(getattr(neuraphage.testing, name) for name in neuraphage.testing.__all__)
    with pytest.raises(AttributeError, match="no_such"):
        _ = neuraphage.testing.no_such


def test_the_plugin_loads_nothing_heavy():
    """A suite that uses none of the fixtures pays for none of them."""
    code = "import sys, neuraphage.testing.pytest_plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"redis", "fakeredis", "starlette", "uvicorn", "pydantic", "celery", "anthropic"} & set(loaded)

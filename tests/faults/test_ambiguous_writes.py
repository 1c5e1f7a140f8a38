"""An answer is lost after the work was done: every script is sent again, and nothing is done twice."""

from __future__ import annotations

import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from fault_server import FaultServer
from lossy_proxy import LossyProxy

from neuraphage.errors import FaultKind, ModelFault, StoreUnavailable
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Mode, TaskSpec
from neuraphage.ports import RecoverVerdict, Signal, SignalKind
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.outcome import Outcome
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.settings import Settings
from neuraphage.store import invariant
from neuraphage.store.client import connect
from neuraphage.store.scripts import script
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.clock import ManualClock
from patience import PATIENCE_S
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, new_rig, says, until

pytestmark = pytest.mark.real_redis

T = TypeVar("T")
SCRIPTS = [
    "create",
    "claim",
    "commit",
    "suspend",
    "finish",
    "go_on",
    "deliver",
    "stop",
    "resume",
    "renew",
    "recover",
    "fire",
    "republish",
    "delete",
    "cool",
]
FIRST, SECOND = f"task-{uuid.UUID(int=1)}", f"task-{uuid.UUID(int=2)}"
MORE_THAN_ONE_CALL_TRIES = 6
DIFFERS = re.compile(r'\b1[0-9]{12}\b|process-[0-9a-f]{8}|_ms":-?[0-9]+|\b[0-9a-f]{16}(?=:[0-9])')
"""Times, ages, process ids, and claim ids with the number of a write."""


@dataclass
class Lossy:
    """A proxy, and the server behind it.

    Args:
        proxy: loses answers.
        url: of the server, through the proxy.
        server: the server itself.
    """

    proxy: LossyProxy
    url: str
    server: FaultServer

    def rig(self, folder: Path, *steps: Any, extra: tuple[Any, ...] = (), **chosen: Any) -> Rig:
        """A process behind the proxy, in a namespace of its own."""
        settings = Settings(namespace=f"n{uuid.uuid4().hex[:8]}", data_dir=folder / ".data", **chosen)
        return new_rig(folder, FakeModel(*steps), client=connect(self.url), settings=settings, extra=extra)

    def around(self, rig: Rig) -> Rig:
        """Another process of the same namespace, which does not meet the proxy."""
        store = RedisStore(rig.settings, SystemClock(), client=self.server.client())
        made = new_rig(rig.folder, rig.model, settings=rig.settings, extra=rig.extra, store=store)
        made.client = store.context.client
        return made


@pytest.fixture
def lossy(server: FaultServer) -> Iterator[Lossy]:
    """A proxy before the module's server."""
    behind = server.address.socket_path
    assert behind is not None
    with tempfile.TemporaryDirectory(prefix="np-") as folder, LossyProxy(Path(folder) / "proxy", behind) as proxy:
        yield Lossy(proxy, server.address.state_url.replace(str(behind), str(proxy.socket_path)), server)


def insist(act: Callable[[], T]) -> T:
    """Do as a person or the next sweep does: repeat what found the server away."""
    while True:
        try:
            return act()
        except StoreUnavailable:
            continue


class Story:
    """Two tasks through every script: the same story each time, whatever answers are lost on the way."""

    def __init__(self, lossy: Lossy, folder: Path) -> None:
        self.tool = FakeTool(effect_class=EffectClass.OPAQUE)
        self.rig = lossy.rig(
            folder,
            calls(("act-1", "act", {}), ("ask", "ask_user", {"question": "Which?"})),
            ModelFault(FaultKind.RATE_LIMITED, "slow down", 60.0),
            self._renewing,
            Killed(),
            says("There."),
            says("And more."),
            extra=(self.tool,),
            turns_per_message="auto",
        )
        self.admin, self.keys = lossy.server.admin, self.rig.store.context.keys
        self.found: list[str] = []

    def _renewing(self, *_: Any) -> Any:
        held = list(self.rig.keeper._held.values())
        assert [r.held for r in insist(lambda: self.rig.store.renew([h.lease for h in held]))[1]] == [True]
        return calls(("act-2", "act", {"n": 2}))

    def tell(self) -> list[str]:
        """Tell it; returns all that is stored at its end, but for times and random ids."""
        self._create(FIRST)
        self._pump()
        prompt = insist(lambda: self.rig.get(FIRST)).prompts[0].prompt_id
        self._signal(FIRST, SignalKind.ANSWER, text="this", prompt_id=prompt)
        self._pump()
        self._let_the_retry_come_due()
        insist(lambda: self.rig.sweep.timers(self.rig.store.now_ms()))
        with pytest.raises(Killed):
            self._pump()
        held = self.rig.kit.held(FIRST)
        insist(lambda: self.rig.sweep.recover(held, "gone"))
        self._pump()
        self._look(FIRST)
        self._create(SECOND, mode=Mode.CONVERSATIONAL)
        self._pump()
        for kind in (SignalKind.PAUSE, SignalKind.RESUME, SignalKind.CANCEL):
            self._signal(SECOND, kind)
        insist(lambda: self.rig.store.delete(FIRST, force=True))
        self._look(SECOND)
        for name in ("outbox", "leases", "timers", "waits", "suspects", "retention", "tombstones"):
            key = getattr(self.keys, name)
            rows = self.admin.hkeys(key) if name == "suspects" else self.admin.zrange(key, 0, -1)
            self.found.append(f"{name} {sorted(rows)}")
        return self.found

    # --- steps ---

    def _create(self, task_id: str, mode: Mode = Mode.AUTONOMOUS) -> None:
        spec = TaskSpec(
            task_id=task_id, name="A task", prompt="Do.", model="scripted-1", allow=("*",), mode=mode,
            working_dir=str(self.rig.folder),
        )  # fmt: skip
        insist(lambda: self.rig.store.create(spec, task_id))

    def _signal(self, task_id: str, kind: SignalKind, **more: str) -> None:
        insist(lambda: self.rig.store.signal(task_id, Signal(kind=kind, key=f"{kind}", **more)))

    def _pump(self) -> None:
        """Handle messages; what is in the outbox after that has lost its message: the sweep sends another."""
        self.rig.drain()
        while left := self.admin.zrange(self.keys.outbox, 0, -1):
            self.admin.zadd(self.keys.outbox, dict.fromkeys(left, 1))
            insist(lambda: self.rig.sweep.outbox(self.rig.store.now_ms()))
            self.rig.drain()

    def _let_the_retry_come_due(self) -> None:
        entry = orjson.loads(self.admin.hget(self.keys.turn(FIRST), "model"))
        self.admin.hset(self.keys.turn(FIRST), "model", orjson.dumps({**entry, "retry_at_ms": 1}))
        self.admin.zadd(self.keys.timers, {FIRST: 1})
        self.admin.delete(self.keys.cooling)

    def _look(self, task_id: str) -> None:
        row = self.admin.hgetall(self.keys.task(task_id))
        row = {k: v for k, v in row.items() if k not in (b"claim", b"published", b"spec")}
        entries = self.rig.entries(task_id)
        events = [f[b"k"] + f[b"d"] for _, f in self.admin.xrange(self.keys.events(task_id))]
        signals = self.admin.zrange(self.keys.signals(task_id), 0, -1)
        journal = self.admin.hgetall(self.keys.turn(task_id))
        facts = [*sorted(row.items()), *entries, *events, *signals, *sorted(journal.items())]
        self.found += [DIFFERS.sub("~", f"{task_id[-1]} {fact!r}") for fact in facts]


def test_every_lost_answer_leaves_the_same_state(lossy: Lossy, tmp_path: Path) -> None:
    """The answer of the n-th script call is lost, for every n: the story ends as without a fault."""
    expected, names = _without_loss(lossy, tmp_path)
    assert set(names) == set(SCRIPTS)
    for number in range(1, len(names) + 1):
        _check_with_loss(lossy, tmp_path, number, expected)


def test_a_worker_asks_again_for_as_long_as_it_takes(lossy: Lossy, tmp_path: Path) -> None:
    """As above, and the server stays away for longer than one call of the store is repeated: the turn repeats it."""
    expected, names = _without_loss(lossy, tmp_path)
    for name in ("claim", "commit", "suspend", "finish", "go_on"):
        number = names.index(name) + 1
        _check_with_loss(lossy, tmp_path, number, expected, refusals=MORE_THAN_ONE_CALL_TRIES)


def _without_loss(lossy: Lossy, folder: Path) -> tuple[list[str], list[str]]:
    """The end of the story, and the scripts it calls; told twice, since the first time sends the scripts' sources."""
    for _ in range(2):
        lossy.proxy.lose(0)
        expected = Story(lossy, folder).tell()
    names = {script(name).digest: name for name in SCRIPTS}
    return expected, [names[digest] for digest in lossy.proxy.calls]


def _check_with_loss(lossy: Lossy, folder: Path, number: int, expected: list[str], *, refusals: int = 0) -> None:
    lossy.proxy.lose(number, refusals=refusals)
    story = Story(lossy, folder)
    found = story.tell()
    assert lossy.proxy.lost.is_set(), "a run that lost no answer shows nothing"
    differing = [set(found) - set(expected), set(expected) - set(found)]
    assert (differing, len(found)) == ([set(), set()], len(expected)), f"after the loss of answer {number}"
    assert len(story.tool.runs) == 2
    assert len(story.rig.model.requests) == 6  # type: ignore[attr-defined]  # the model of a rig is a FakeModel here
    assert invariant.violations(story.rig.store.context) == []


def test_an_announcement_confirmed_too_late_starts_nothing(lossy: Lossy, tmp_path: Path) -> None:
    """A tool's marker is written, its answer lost until another process has taken the task: the tool never starts."""
    tool = FakeTool(effect_class=EffectClass.OPAQUE)
    times = {"heartbeat_s": 0.1, "lease_s": 0.4, "first_republish_s": 60.0, "max_republish_s": 60.0}
    rig = lossy.rig(tmp_path, calls(("act-1", "act", {})), says("Done."), extra=(tool,), **times)
    other = lossy.around(rig)
    task = rig.submit()
    for name in SCRIPTS:
        lossy.server.admin.script_load(script(name).source)
    lossy.proxy.lose(3, refusals=10**9)  # claim, request_sent, tool_started
    outcome: list[str] = []
    worker = threading.Thread(target=lambda: outcome.append(rig.step()))
    worker.start()
    assert lossy.proxy.lost.wait(PATIENCE_S)
    assert other.get(task).marker.name.value == "tool_started"
    until(lambda: RecoverVerdict.RECOVERED in {answer.verdict for answer in other.sweep.expired(other.store.now_ms())})
    lossy.proxy.refusals = 0
    worker.join()
    assert outcome == [Outcome.LOST]
    assert tool.runs == []
    other.drain()
    assert other.results(task)["act-1"]["is_error"], "nobody knows whether it ran, and so it is told"
    assert tool.runs == []
    other.check()


def test_a_claim_that_was_tried_for_long_is_no_clock_running_ahead(tmp_path: Path) -> None:
    """Server time is reckoned from the answer: from the first try it would be ahead, and a deadline over too soon."""
    clock = ManualClock()
    rig = new_rig(tmp_path, FakeModel())
    object.__setattr__(rig.services, "clock", clock)
    task = rig.submit()
    sent_s = clock.boottime_s()
    clock.advance(15.0)
    claimed = replace(rig.store.claim(task, 1, "process", "claim"), sent_at_boottime_s=sent_s)
    assert claimed.lease is not None
    with rig.keeper.hold(claimed.lease, sent_s) as held:
        work = UnitOfWork(rig.services, held, claimed, lambda: False)
    assert work.now_ms() <= claimed.now_ms

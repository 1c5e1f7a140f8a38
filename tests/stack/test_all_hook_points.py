"""Each of the 27 points fires in real workers, says all that it may, and is killed around it with kill -9."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuraphage.model.hook import MAY_SAY, HookKind, HookPoint, VerdictKind
from neuraphage.model.task import FailedDetail, Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import CONTROL_QUEUE, OBSERVE, RUN_QUEUE
from neuraphage.store import queries
from neuraphage.store.observers import RedisObservers
from patience import PATIENCE_S
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for
from stackkit.all_hooks import ANSWERED, CASES, FIRED, FOLDER, SAID

pytestmark = pytest.mark.real_workers
RAN, CHANGED = ["ran"], ["changed"]
HOOKS = "stackkit.all_hooks:guards,stackkit.all_hooks:observers"
SIDES = ("before", "after")
APP = "stackkit.hooked_app"
ASK = ("ask_user", {"question": "Which one?"})
ACTS = turn("its words; sent {max_tokens}, {system_end}", command("echo ran >> log.txt"))


@dataclass(frozen=True)
class Came:
    """What a verdict comes to, whatever is killed.

    Args:
        log: what commands have written.
        said: stands in the conversation or in the error.
        unsaid: stands in neither.
        status: of the task.
        requests: to the model.
        asked: how many prompts people got.
    """

    log: list[str]
    said: str
    unsaid: str = "no such words"
    status: Status = Status.COMPLETED
    requests: int = 2
    asked: int = 0


def failed(point: HookPoint, log: list[str], requests: int, said: str = "") -> Came:
    said = said or f"The guard at-{point.value} blocked at {point.value}: not today"
    return Came(log, said, status=Status.FAILED, requests=requests)


BLOCKED = "The guard at-{} blocked this {} call. It was not run. Its reason: not today"
CAME: Mapping[tuple[HookPoint, str], Came] = {
    (HookPoint.PRE_CONTEXT_ASSEMBLY, "block"): failed(HookPoint.PRE_CONTEXT_ASSEMBLY, [], 0),
    (HookPoint.PRE_CONTEXT_ASSEMBLY, "change"): Came(RAN, "Mind the gap."),
    (HookPoint.POST_CONTEXT_ASSEMBLY, "block"): failed(HookPoint.POST_CONTEXT_ASSEMBLY, [], 0),
    (HookPoint.POST_CONTEXT_ASSEMBLY, "change"): Came(RAN, "Be brief."),
    (HookPoint.PRE_LLM_CALL, "block"): failed(HookPoint.PRE_LLM_CALL, [], 0),
    (HookPoint.PRE_LLM_CALL, "change"): Came(RAN, "sent 777,"),
    (HookPoint.PRE_LLM_CALL, "answer"): Came([], "From the cache.", requests=0),
    (HookPoint.POST_LLM_CALL, "block"): failed(
        HookPoint.POST_LLM_CALL, [], 1, "The guard at-PostLLMCall withheld the reply of the model: not today"
    ),
    (HookPoint.POST_LLM_CALL, "change"): Came(RAN, "other words", unsaid="its words"),
    (HookPoint.PRE_TOOL_USE, "block"): Came([], BLOCKED.format("PreToolUse", "run_command")),
    (HookPoint.PRE_TOOL_USE, "change"): Came(CHANGED, "The guard at-PreToolUse changed this call"),
    (HookPoint.PRE_TOOL_USE, "answer"): Came([], "From a guard."),
    (HookPoint.POST_TOOL_USE, "block"): Came(RAN, "The guard at-PostToolUse withheld its result"),
    (HookPoint.POST_TOOL_USE, "change"): Came(RAN, "a shorter result", unsaid="[exit code 0]"),
    (HookPoint.PRE_USER_PROMPT, "block"): Came([], BLOCKED.format("PreUserPrompt", "ask_user")),
    (HookPoint.PRE_USER_PROMPT, "change"): Came([], ANSWERED, asked=1),
    (HookPoint.PRE_USER_PROMPT, "answer"): Came([], "blue, says a guard"),
    (HookPoint.POST_USER_INPUT, "block"): Came([], "was withheld by the guard at-PostUserInput: not today", asked=1),
    (HookPoint.POST_USER_INPUT, "change"): Came([], "in other words", unsaid=f"'{ANSWERED}'", asked=1),
    (HookPoint.LOOP_ITERATION, "block"): failed(HookPoint.LOOP_ITERATION, RAN, 1),
    (HookPoint.LOOP_ITERATION, "change"): Came(RAN, "Run the tests first."),
    (HookPoint.SECURITY_POLICY_CHECK, "block"): Came([], BLOCKED.format("SecurityPolicyCheck", "run_command")),
    (HookPoint.PERMISSION_REQUEST, "block"): Came([], BLOCKED.format("PermissionRequest", "run_command")),
    (HookPoint.PERMISSION_REQUEST, "answer"): Came(RAN, "[exit code 0]"),
}


def test_every_verdict_of_every_point_is_tried() -> None:
    """Also of points that a release adds."""
    kinds = {point: {VerdictKind.BLOCK, *MAY_SAY[point]} for point in HookPoint if point.kind is HookKind.GUARD}
    assert {point: {VerdictKind.BLOCK, *map(VerdictKind, said)} for point, said in SAID.items()} == kinds
    assert set(CAME) == set(CASES)
    assert len(SAID) + len(FIRED) == 27


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Stack]:
    """A stack with slots, a rule and an early anomaly, and with all hooks: every point has an occasion."""
    occasions = {"max_running": 100, "anomalies": "same_call_fails warn 1", "rules": "deny run_command: forbidden *"}
    with tempfile.TemporaryDirectory(prefix="np-") as folder, Stack(Path(folder)) as stack:
        stack.values |= occasions | {"hooks": HOOKS}
        stack.plan.environ[FOLDER] = str(tmp_path)
        yield stack


def lines(folder: Path, name: str) -> list[str]:
    file = folder / name
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


class Telling:
    """Has events told in a control worker, as beat does, and lets the hold of a killed one run out."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self._app, self._stack, self._folder = make_app(stack.settings), stack, folder
        self._deaths = 0

    def look(self) -> None:
        self._app.send_task(OBSERVE, queue=CONTROL_QUEUE, expires=PATIENCE_S)
        deaths = sum((self._folder / f"died {point.value}").exists() for point in FIRED)
        if deaths > self._deaths:
            self._deaths = deaths
            self._stack.store.context.client.delete(self._stack.store.context.keys.observing)


def guarded(stack: Stack) -> dict[str, str]:
    """A task for each verdict and side, by its name."""
    tasks = {}
    for point, verdict in CASES:
        asks = point in (HookPoint.PRE_USER_PROMPT, HookPoint.POST_USER_INPUT)
        prompt = task_prompt(turn("", ASK) if asks else ACTS, turn("done"))
        allow = () if point is HookPoint.PERMISSION_REQUEST else ("*",)
        for side in SIDES:
            name = f"{point.value} {verdict} {side}"
            tasks[name] = stack.submit(prompt, name=name, allow=allow)
    return tasks


def eventful(stack: Stack) -> list[str]:
    """Tasks that give observers the rest of what they are told of."""
    gives_up = stack.submit(task_prompt(turn("", ("fail_task", {"reason": "no way"}))))
    spawns = stack.submit(task_prompt(turn("", ("spawn_task", {"prompt": task_prompt(turn("done"))})), turn("done")))
    tries = stack.submit(task_prompt(turn("", command("forbidden thing")), turn("", command("false")), turn("done")))
    holds = stack.submit(task_prompt(turn("", HELD), turn("done")))
    stack.held(holds)
    waits = stack.submit(
        task_prompt(turn("", command("echo next >> log.txt")), turn("done")), working_dir=str(stack.work_dir(holds))
    )
    wait_for(lambda: stack.record(waits).status is Status.BLOCKED, "the wait for a lock")
    (stack.work_dir(holds) / "go").touch()
    asks = stack.submit(task_prompt(turn("", ASK), turn("done")), name="paused")
    wait_for(lambda: stack.record(asks).prompts, "the question")
    stack.client.pause(asks)
    stack.client.resume(asks)
    wait_for(lambda: stack.record(asks).status is Status.WAITING_FOR_USER, "the question, again")
    leaves = stack.submit(task_prompt(turn("", ASK), turn("done")), name="cancelled")
    wait_for(lambda: stack.record(leaves).prompts, "another question")
    stack.client.cancel(leaves)
    return [gives_up, spawns, tries, holds, waits, leaves, asks]


def test_every_point_fires_and_what_it_says_holds_over_a_kill(hooked: Stack, tmp_path: Path) -> None:
    """Guards: killed before the write that stores the verdict they are asked again, and told so; behind it nobody is.
    Observers: killed in the midst of telling, the same event is told again as a repeat, and no event is left out."""
    stack = hooked
    telling, store = Telling(stack, tmp_path), RedisObservers(stack.store.context)
    stack.start_plain_worker("control", "-P", "prefork", "-c", "3", "-Q", CONTROL_QUEUE)

    def observed() -> bool:
        telling.look()
        return len(store.places()) == len(FIRED)

    wait_for(observed, "the places of observers", every_s=0.2)
    stack.start_plain_worker("hooked", "-P", "prefork", "-c", "6", "-Q", RUN_QUEUE, app=APP)
    tasks = guarded(stack)
    others = eventful(stack)

    answered: set[str] = set()

    def over() -> bool:
        telling.look()
        records = [stack.record(task) for task in (*tasks.values(), *others)]
        for record in records:
            for prompt in record.prompts:
                if prompt.prompt_id not in answered:
                    stack.client.answer(record.task_id, ANSWERED, prompt_id=prompt.prompt_id)
                    answered.add(prompt.prompt_id)
        return all(record.place is None for record in records)

    wait_for(over, "all tasks to end", every_s=0.3)
    faults = [fault for name, task in tasks.items() for fault in case_faults(stack, tmp_path, name, task)]
    assert not faults, "\n".join(faults)

    def all_told() -> bool:
        telling.look()
        return all(not missing(stack, tmp_path, point) for point in FIRED)

    wait_for(all_told, "all events to be told", every_s=0.3)
    assert [fault for point in FIRED for fault in observer_faults(tmp_path, point)] == []
    assert store.put_by() == []


def case_faults(stack: Stack, folder: Path, name: str, task: str) -> list[str]:
    """How a task differs from what the verdict of its guard comes to."""
    point, verdict, side = name.split()
    came, record = CAME[HookPoint(point), verdict], stack.record(task)
    detail = record.detail
    text = str(stack.client.conversation(task)[1:]) + (detail.error if isinstance(detail, FailedDetail) else "")
    found = {
        "died": (folder / f"died {task}").exists(),
        "asked": lines(folder, f"asked {name}"),
        "status": record.status,
        "log": stack.lines(task),
        "said": came.said in text,
        "unsaid": came.unsaid in text,
        "requests": len(stack.model_requests(task)),
        "prompts": len(stack.events(task, "UserInputNeeded")),
    }
    wanted = {
        "died": True,
        "asked": ["False", "True"] if side == "before" else ["False"],
        "status": came.status,
        "log": came.log,
        "said": True,
        "unsaid": False,
        "requests": came.requests,
        "prompts": came.asked,
    }
    return [f"{name}: {key} is {found[key]}, not {wanted[key]}" for key in wanted if found[key] != wanted[key]]


def events_of(stack: Stack, point: HookPoint) -> list[str]:
    return [
        event.event_id or ""
        for record in stack.client.list(limit=1_000)
        for event in queries.events(stack.store.context, record.task_id, limit=10_000)
        if event.kind == point.value
    ]


def missing(stack: Stack, folder: Path, point: HookPoint) -> set[str]:
    """Events that happened and were not told; at least one has happened."""
    return (set(events_of(stack, point)) or {"none"}) - {row.split()[0] for row in lines(folder, f"told {point.value}")}


def observer_faults(folder: Path, point: HookPoint) -> list[str]:
    """An observer was killed in its first call, and told the same again, as a repeat, before all else."""
    rows = [row.split() for row in lines(folder, f"told {point.value}")]
    ids, repeats = [row[0] for row in rows], [row[0] for row in rows if row[1] == "True"]
    if ids[:2] != [ids[0]] * 2 or rows[0][1] == "True" or repeats != [ids[0]] or len(set(ids)) != len(ids) - 1:
        return [f"{point.value}: {rows}"]
    return []

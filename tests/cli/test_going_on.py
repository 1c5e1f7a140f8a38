"""Every command that we name to go on with a task is typed here, in the very state in which it is named."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from clikit import Bench, CommandLine
from neuraphage.model.effect import EffectState, ModelEffect
from neuraphage.model.limits import LimitChange
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import Changes, FinishTo, SignalKind, SuspendTo
from storekit import TALK, StoreKit, question

NAMED = re.compile(r"`neuraphage ([^`]+)`|(?<![`\w])neuraphage ((?:answer|send|resume|retry) [^\n`]+)")
ASKS = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
NOT_TYPED = ("attach", "dev", "why", "list", "show")
"""They change nothing; `attach` and `dev` would go on for ever."""
RESTING = TERMINAL | {Status.PAUSED}
Make = Callable[[StoreKit], str]


def failed(kit: StoreKit, *, recoverable: bool = True, limits: LimitChange | None = None) -> str:
    """A task that failed in its second turn, after a reply that cost 100."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, Changes(add={"model_calls": 1, "cost_microusd": 100}))
    lease = kit.claim(task_id)
    if limits is not None:
        kit.send(task_id, SignalKind.LIMIT, limits=limits)
    detail = {"error": "No.", "recoverable": recoverable}
    kit.store.finish(lease, Changes(), FinishTo.FAILED, 1, detail)
    return task_id


def completed(kit: StoreKit, limits: LimitChange) -> str:
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.COMPLETED, Changes(add={"model_calls": 1, "cost_microusd": 100}), summary="Done.")
    kit.send(task_id, SignalKind.LIMIT, limits=limits)
    return task_id


def without_conversation(kit: StoreKit, task_id: str) -> str:
    kit.client.delete(kit.keys.messages(task_id))
    return task_id


def worked(kit: StoreKit) -> str:
    """A task before its second turn, after a reply that cost 100."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, Changes(add={"model_calls": 1, "cost_microusd": 100}))
    return task_id


def paused(kit: StoreKit, task_id: str, limits: LimitChange | None = None) -> str:
    kit.send(task_id, SignalKind.PAUSE)
    if limits is not None:
        kit.send(task_id, SignalKind.LIMIT, limits=limits)
    return task_id


def with_reply(kit: StoreKit) -> str:
    """A task that failed at its limit, with a reply that can still be worked off."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.LIMIT, limits=LimitChange(max_cost_microusd=100))
    reply = ModelEffect(state=EffectState.COMPLETED)
    changes = Changes(journal=(reply,), add={"model_calls": 1, "cost_microusd": 100})
    kit.store.finish(lease, changes, FinishTo.FAILED, 0, {"error": "No.", "recoverable": True})
    return task_id


def at_timer(kit: StoreKit) -> str:
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() + 60_000)
    return task_id


STATES: dict[str, Make] = {
    **{f"{status.value}": (lambda kit, status=status: kit.put(status)) for status in Status},
    "asks for a permission": lambda kit: kit.waiting(ASKS),
    "asks twice": lambda kit: kit.waiting(ASKS, ASKS.model_copy(update={"prompt_id": "p2"})),
    "asks a question": lambda kit: kit.waiting(Prompt(prompt_id="q", kind=PromptKind.QUESTION, text="Which?")),
    "waits for a message": lambda kit: kit.waiting(question(TALK)),
    "paused while it asks": lambda kit: paused(kit, kit.waiting(ASKS)),
    "paused at its turns": lambda kit: paused(kit, worked(kit), LimitChange(max_turns=1)),
    "paused at its money": lambda kit: paused(kit, worked(kit), LimitChange(max_cost_microusd=100)),
    "waits before it asks again": at_timer,
    "completed, no money left": lambda kit: completed(kit, LimitChange(max_cost_microusd=100)),
    "completed, no turns at all": lambda kit: completed(kit, LimitChange(max_turns=0)),
    "failed at its turns": lambda kit: failed(kit, limits=LimitChange(max_turns=1)),
    "failed at its money": lambda kit: failed(kit, limits=LimitChange(max_cost_microusd=7)),
    "failed at both": lambda kit: failed(kit, limits=LimitChange(max_turns=0, max_cost_microusd=0)),
    "failed at its money, with a reply": with_reply,
    "failed for good": lambda kit: failed(kit, recoverable=False),
    "failed for good at its turns": lambda kit: failed(kit, recoverable=False, limits=LimitChange(max_turns=1)),
    "failed for good at its money": lambda kit: failed(
        kit, recoverable=False, limits=LimitChange(max_cost_microusd=100)
    ),
    "completed, its conversation gone": lambda kit: without_conversation(kit, kit.put(Status.COMPLETED)),
    "failed, its conversation gone": lambda kit: without_conversation(kit, failed(kit)),
}
ASKED = {
    "why": lambda short: ("why", short),
    "show": lambda short: ("show", short),
    **{verb: (lambda short, verb=verb: (verb, short)) for verb in ("pause", "resume", "cancel", "retry")},
    "retry --reply": lambda short: ("retry", short, "--reply"),
    "send": lambda short: ("send", short, "more"),
    "answer": lambda short: ("answer", short, "yes"),
    "limit": lambda short: ("limit", short, "--max-turns", "7"),
    "recover --resume": lambda short: ("recover", "--resume", short),
    "recover --reset": lambda short: ("recover", "--reset", short),
}
"""What names commands: an explanation, and the refusal of whatever else was asked."""


def type_them(cli: CommandLine, text: str) -> list[str]:
    """Type every command that a text names, in their order; each must work. Returns their verbs."""
    verbs = []
    each = re.sub(r"\s+all alike: [^\n]+", "", text)  # the other way to answer the same; test_answering types it
    for found in NAMED.finditer(each.replace("\n  ", " ")):
        words = shlex.split((found[1] or found[2]).replace("ANSWER", "yes"))
        if words[0] not in NOT_TYPED:
            verbs.append(words[0])
            ran = cli(*words)
            assert ran.code == 0, f"{words} said: {ran.err}"
    return verbs


@pytest.mark.parametrize("state", STATES)
def test_what_is_named_works(cli: CommandLine, bench: Bench, state: str) -> None:
    """Exit 0 for each, and a task that rested is at work again, unless nothing can put it back to work."""
    bench.kit.broken_on_purpose = "conversation gone" in state
    over = state == "Cancelled" or "conversation gone" in state
    for asked, words in ASKED.items():
        task_id = STATES[state](bench.kit)
        before = bench.kit.status(task_id)
        ran = cli(*words(bench.client.get(task_id).short_id))
        if ran.code == 0 and asked not in ("why", "show"):
            continue  # it was not refused
        verbs = type_them(cli, ran.out + ran.err)
        if asked == "show" or "prompt" in ran.err:
            continue  # the first names commands only while a task is not over, the second prompts and no command
        if over:
            assert verbs == ["submit"], (asked, ran)
        elif before in RESTING:
            assert bench.kit.status(task_id) not in RESTING, f"{asked}: {verbs} did not put it back to work: {ran}"


@pytest.mark.parametrize("state", [name for name in STATES if name.startswith("failed") and "gone" not in name])
def test_all_reset_passes_over_what_cannot_be_reset(cli: CommandLine, bench: Bench, state: str) -> None:
    """One task at its limit holds no other up, and the dry run tells what the real one does."""
    task_id, other = STATES[state](bench.kit), failed(bench.kit)
    dry = cli("recover", "--all-reset", "--dry-run").out
    done = cli("recover", "--all-reset").out
    assert bench.kit.status(other) is Status.QUEUED
    assert [line.removeprefix("would ") for line in dry.splitlines()] == done.splitlines()
    assert (task_id in done) is (bench.kit.status(task_id) is Status.QUEUED)


@pytest.mark.parametrize("state", STATES)
def test_a_dry_run_says_what_the_real_one_does(cli: CommandLine, bench: Bench, state: str) -> None:
    """The same exit code; done or refused, and a refusal names the same next step."""
    bench.kit.broken_on_purpose = "conversation gone" in state
    for option in ("--resume", "--reset"):
        task_id = STATES[state](bench.kit)
        dry = cli("recover", option, task_id, "--dry-run")
        done = cli("recover", option, task_id)
        assert (dry.code, dry.out.removeprefix("would ")) == (done.code, done.out), (dry, done)
        assert NAMED.findall(dry.err) == NAMED.findall(done.err)

"""Answers by a program: each open prompt is asked about once, within bounds."""

from __future__ import annotations

import pytest

from apikit import ApiBench
from neuraphage.errors import BadInput, PromptNotOpen
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.shown import OpenPrompt
from neuraphage.ports import Signal, SignalKind, Signalled


def ask(bench: ApiBench, *names: str, priority: int = 2) -> str:
    """A task that asks these."""
    task_id = bench.api.submit("x", priority=priority)
    prompts = tuple(
        Prompt(prompt_id=f"{name}-prompt", kind=PromptKind.PERMISSION, text=f"May {name}?", options=PERMISSION_OPTIONS)
        for name in names
    )
    bench.rows.tasks[task_id] = bench.rows.tasks[task_id].model_copy(update={"prompts": prompts})
    return task_id


def answered(bench: ApiBench) -> list[tuple[str | None, str]]:
    return [(sent.prompt_id, sent.text) for sent in bench.rows.sent if sent.kind is SignalKind.ANSWER]


def test_each_prompt_is_asked_about_once() -> None:
    """The most urgent first; what the function leaves to others is not sent, and not asked about again."""
    bench, asked = ApiBench(), list[str]()
    ask(bench, "one", "two")
    ask(bench, "urgent", priority=0)

    def decide(entry: OpenPrompt) -> str | None:
        asked.append(entry.shown.question)
        return None if "two" in entry.shown.question else "no"

    sent = bench.api.approve(decide, poll_s=0.05, timeout_s=0.2)
    assert asked == ["May urgent?", "May one?", "May two?"]
    assert answered(bench) == [("urgent-prompt", "no"), ("one-prompt", "no")]
    assert sent == 2


def test_a_prompt_that_opens_later_is_asked_about() -> None:
    """At the next look; and the loop ends by its count."""
    bench, asked = ApiBench(), list[str]()
    ask(bench, "one")

    def decide(entry: OpenPrompt) -> str:
        asked.append(entry.prompt.prompt_id)
        if len(asked) == 1:
            ask(bench, "later")
        return "yes"

    assert bench.api.approve(decide, poll_s=0.05, most=2) == 2
    assert asked == ["one-prompt", "later-prompt"]


def test_it_is_stopped_from_outside() -> None:
    """Before the next prompt, not only before the next look."""
    bench, asked = ApiBench(), list[str]()
    ask(bench, "one", "two")

    def decide(entry: OpenPrompt) -> None:
        asked.append(entry.prompt.prompt_id)

    assert bench.api.approve(decide, stop=lambda: bool(asked)) == 0
    assert asked == ["one-prompt"]


def test_only_some_tasks() -> None:
    """Those that are named."""
    bench = ApiBench()
    ask(bench, "one")
    wanted = ask(bench, "two")
    assert bench.api.approve(lambda _: "no", tasks=[wanted], most=1) == 1
    assert answered(bench) == [("two-prompt", "no")]


def test_who_was_first_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function's answer is dropped, and the loop goes on."""
    bench = ApiBench()
    ask(bench, "one", "two")
    real = bench.rows.signal

    def signal(task_id: str, sent: Signal) -> Signalled:
        if sent.prompt_id == "one-prompt":
            raise PromptNotOpen("it was answered")
        return real(task_id, sent)

    monkeypatch.setattr(bench.rows, "signal", signal)
    assert bench.api.approve(lambda _: "no", poll_s=0.05, most=1) == 1
    assert answered(bench) == [("two-prompt", "no")]


def test_what_the_function_raises_ends_the_loop() -> None:
    """And nothing is sent; an answer that is none is told, too."""
    bench = ApiBench()
    ask(bench, "one")
    with pytest.raises(ZeroDivisionError):
        bench.api.approve(lambda _: str(1 // 0))
    with pytest.raises(BadInput, match="answer one of"):
        bench.api.approve(lambda _: "perhaps")
    assert answered(bench) == []


def test_an_outage_is_sat_out() -> None:
    """As every other read that waits."""
    bench = ApiBench()
    ask(bench, "one")
    bench.rows.away = 1
    assert bench.api.approve(lambda _: "no", most=1) == 1


@pytest.mark.parametrize("bounds", [{"poll_s": 0.0}, {"timeout_s": -1.0}, {"most": 0}])
def test_bounds_that_make_no_sense(bounds: dict[str, float]) -> None:
    """Refused before the first look."""
    with pytest.raises(BadInput, match="at least"):
        ApiBench().api.approve(lambda _: "no", **bounds)  # type: ignore[arg-type]  # one of them at a time

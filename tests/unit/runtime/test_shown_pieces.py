"""Pieces of a reply are for viewers: nothing about them loses the reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.ports import Delta
from neuraphage.redaction.redactor import Redactor
from neuraphage.store import live
from turnkit import Rig, says, until

MakeRig = Callable[..., Rig]


def watched(make_rig: MakeRig, pieces: Sequence[str]) -> tuple[Rig, str]:
    """A process whose model streams these pieces, and a task that somebody watches."""

    def step(request: Any, show: Callable[[Delta], None], interrupt: Any) -> ModelReply:
        for piece in pieces:
            show(Delta("text", piece))
        return says("Done.")

    rig = make_rig(step)
    task_id = rig.submit()
    live.watch(rig.store.context, task_id)
    return rig, task_id


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["a b c d e f ", "\ud83c", "\udf88", " g"], "a b c d e f 🎈 g"),
        (["x \ud83c y"], "x \ufffd y"),
        (["好的\ud83c", "\udf88好"], "好的🎈好"),
        (["\udf88"], "\ufffd"),
    ],
)
def test_halves_of_characters_are_shown_whole_or_replaced(make_rig: MakeRig, pieces: list[str], shown: str) -> None:
    """No server takes half a character: it ended the turn after its reply was paid for, as often as it was tried."""
    rig, task_id = watched(make_rig, pieces)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    rows = rig.client.xrange(rig.kit.keys.live(task_id))
    assert "".join(fields[b"t"].decode() for _, fields in rows) == shown


def test_a_view_that_fails_at_the_end_loses_no_reply(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reply is committed although its last piece could not be shown."""
    rig, task_id = watched(make_rig, [])

    def broken(_: object) -> None:
        raise RuntimeError("no view")

    monkeypatch.setattr("neuraphage.runtime.live_text.LiveText.end", broken)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(rig.model.requests) == 1


BEGINNING = "One sentence is here. And one more is there, too. Then thr"


def shown_of(rig: Rig, task_id: str) -> str:
    """What viewers were sent."""
    return "".join(fields[b"t"].decode() for _, fields in rig.client.xrange(rig.kit.keys.live(task_id)))


@pytest.mark.parametrize("comes_late", [False, True])
def test_a_reply_that_pauses_is_shown_as_far_as_it_has_come(make_rig: MakeRig, comes_late: bool) -> None:
    """Not with its next piece only, which may be a minute away; nor does who comes in the pause wait for that."""
    settled = BEGINNING[: Redactor().settled_chars(BEGINNING)]  # the last words may make a secret with what follows

    def step(request: Any, show: Callable[[Delta], None], interrupt: Any) -> ModelReply:
        for at in range(0, len(BEGINNING), 10):
            show(Delta("text", BEGINNING[at : at + 10]))
        if comes_late:
            live.watch(rig.store.context, task_id)
        until(lambda: shown_of(rig, task_id) == settled)
        show(Delta("text", "ee."))
        return says(f"{BEGINNING}ee.")

    rig = make_rig(step)
    task_id = rig.submit()
    if not comes_late:
        live.watch(rig.store.context, task_id)
    rig.drain()
    assert settled
    assert rig.get(task_id).status is Status.COMPLETED
    assert shown_of(rig, task_id) == f"{BEGINNING}ee."

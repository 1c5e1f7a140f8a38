"""Kills a process at a marker: just before the marker is stored, or just after it."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from neuraphage.errors import BadInput
from neuraphage.model.effect import MarkerName
from neuraphage.ports import Changes, Claimed, Committed, FinishTo, GoneOn, Lease, Settled, SuspendTo, TurnStore
from neuraphage.testing.crash import Side

T = TypeVar("T")
_FORM = re.compile(r"([a-z_]+)(?:#([1-9]\d*))?\.(before|after)")


@dataclass(frozen=True, slots=True)
class KillAt:
    """An instant in the life of a worker process.

    Args:
        marker: name of the marker that is stored then. A commit stores one marker, that of the last thing it notes: the
            outcome of one effect and the intent of the next are one commit.
        side: before or after it is stored.
        occurrence: which marker of this name in the process's life, from 1.
    """

    marker: MarkerName
    side: Side = Side.AFTER
    occurrence: int = 1

    def __str__(self) -> str:
        number = "" if self.occurrence == 1 else f"#{self.occurrence}"
        return f"{self.marker.value}{number}.{self.side.value}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes: `tool_started.after`, `tool_started#2.before`.

        Raises:
            BadInput: it is not of that form, or names no marker of a turn.
        """
        found = _FORM.fullmatch(text)
        names = [name.value for name in MarkerName if name is not MarkerName.TASK_CREATED]
        if found is None or found[1] not in names:
            known = ", ".join(names)
            raise BadInput(f"{text!r} is no moment of a turn; write {names[0]}.before or .after; markers: {known}")
        return cls(MarkerName(found[1]), Side(found[3]), int(found[2] or 1))


class KillingStore:
    """Implements ports.TurnStore by another one; notes each marker, and kills this process at one.

    Args:
        target: the store.
        kill: where; None for nowhere.
        notes: file that gets a line for each marker that is about to be stored.
    """

    def __init__(self, target: TurnStore, kill: KillAt | None, notes: Path) -> None:
        self._target, self._kill, self._notes = target, kill, notes
        self._counts: Counter[MarkerName] = Counter()
        self.renew = target.renew
        self.publish_live = target.publish_live
        self.live_shown = target.live_shown
        self.admit_call, self.settle_call = target.admit_call, target.settle_call
        self.cool_model, self.open_model = target.cool_model, target.open_model
        self.learn_limits = target.learn_limits

    def claim(self, task_id: str, seq: int, process_id: str, claim_id: str, request_id: str = "") -> Claimed:  # noqa: ARG002 - each marker is to be a write of its own
        """See ports.TurnStore; announces no call, so that there is a moment before its marker."""
        return self._target.claim(task_id, seq, process_id, claim_id)

    def commit(self, lease: Lease, changes: Changes) -> Committed:
        """See ports.TurnStore."""
        return self._at(changes, lambda: self._target.commit(lease, changes))

    def suspend(
        self,
        lease: Lease,
        changes: Changes,
        to: SuspendTo,
        *,
        due_ms: int = 0,
        reason: str = "",
        detail: Mapping[str, Any] | None = None,
        unsent: bool = False,
    ) -> Settled:
        """See ports.TurnStore."""
        write = self._target.suspend
        further: dict[str, Any] = {"due_ms": due_ms, "reason": reason, "detail": detail, "unsent": unsent}
        return self._at(changes, lambda: write(lease, changes, to, **further))

    def finish(
        self, lease: Lease, changes: Changes, to: FinishTo, iteration: int, detail: Mapping[str, Any]
    ) -> Settled:
        """See ports.TurnStore."""
        return self._at(changes, lambda: self._target.finish(lease, changes, to, iteration, detail))

    def go_on(
        self,
        lease: Lease,
        changes: Changes,
        to: FinishTo,
        iteration: int,
        detail: Mapping[str, Any],
        *,
        process_id: str,
        claim_id: str,
        request_id: str = "",  # noqa: ARG002 - as of claim
    ) -> GoneOn:
        """See ports.TurnStore."""
        write, ending = self._target.go_on, (lease, changes, to, iteration, detail)
        return self._at(changes, lambda: write(*ending, process_id=process_id, claim_id=claim_id))

    def _at(self, changes: Changes, write: Callable[[], T]) -> T:
        if changes.marker is None:
            return write()
        name = changes.marker.name
        self._counts[name] += 1
        with self._notes.open("a", encoding="utf-8") as file:
            file.write(f"{name.value}#{self._counts[name]}\n")
        self._die_at(name, Side.BEFORE)
        answer = write()
        self._die_at(name, Side.AFTER)
        return answer

    def _die_at(self, name: MarkerName, side: Side) -> None:
        kill = self._kill
        if kill is not None and (kill.marker, kill.side, kill.occurrence) == (name, side, self._counts[name]):
            os.kill(os.getpid(), signal.SIGKILL)


def kills_of(notes: Path) -> list[KillAt]:
    """Both sides of every marker that a process has noted, in order."""
    if not notes.exists():
        return []
    rows = [line.partition("#") for line in notes.read_text(encoding="utf-8").splitlines()]
    return [KillAt(MarkerName(name), side, int(number)) for name, _, number in rows for side in Side]

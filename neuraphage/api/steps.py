"""Following a task as a row of steps that somebody else takes, so that only the waiting differs.

A generator yields what it has found and, in between, the steps it needs: a read, a pause, a change to wait for. Who
takes them may block (`blocking`, here), or leave its thread meanwhile (the client for asyncio).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from neuraphage.errors import AccessRefused, StoreUnavailable
from neuraphage.model.event import Event

T = TypeVar("T")

OUTAGE_PATIENCE_S = 60.0
"""How long events, follow and wait sit out an outage of the state server: longer than a restart or a failover."""
OUTAGE_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Read:
    """A read, which takes a moment; answered by its result.

    Args:
        read: makes it.
    """

    read: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """Time that has to pass.

    Args:
        seconds: how long.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Change:
    """Wait until a task may have changed; answered by its new history lines, as far as the waiting showed them.

    Args:
        lines: reads the new lines, waiting so many milliseconds for the first one.
        limit_ms: how long at most.
    """

    lines: Callable[[int], Sequence[Event]]
    limit_ms: int


Step: TypeAlias = Read | Pause | Change
Steps: TypeAlias = Generator[Step | T, Any, None]


def patiently(step: Step, deadline_s: float | None = None) -> Generator[Step, Any, Any]:
    """Take a step again while the state server is away.

    Args:
        step: the step.
        deadline_s: end earlier, by the monotonic clock.

    Raises:
        StoreUnavailable: it stayed away.
        AccessRefused: it lets this process not in; not repeated.
    """
    limit_s = time.monotonic() + OUTAGE_PATIENCE_S
    while True:
        try:
            return (yield step)
        except AccessRefused:
            raise
        except StoreUnavailable:
            if time.monotonic() > min(limit_s, deadline_s or limit_s):
                raise
        yield Pause(OUTAGE_PAUSE_S)


def next_of(steps: Steps[T], answer: Any, error: StoreUnavailable | None) -> Step | T:
    """Hand a generator the answer of its last step, or the outage that came of it.

    Returns:
        Its next step, or what it has found.

    Raises:
        StopIteration: it has ended.
    """
    return steps.send(answer) if error is None else steps.throw(error)


def blocking(steps: Steps[T]) -> Iterator[T]:
    """What such a generator finds, each step taken in this thread."""
    answer, error = None, None
    while True:
        try:
            found = next_of(steps, answer, error)
        except StopIteration:
            return
        answer, error = None, None
        if not isinstance(found, Read | Pause | Change):
            yield found
            continue
        try:
            answer = _taken(found)
        except StoreUnavailable as away:
            error = away


def _taken(step: Step) -> Any:
    match step:
        case Read():
            return step.read()
        case Change():
            return step.lines(step.limit_ms)
        case Pause():
            return time.sleep(step.seconds)

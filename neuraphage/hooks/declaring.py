"""How a person declares a hook: a decorated function, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.shell_hooks import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S
from neuraphage.errors import BadInput
from neuraphage.model.event import EventKind
from neuraphage.model.hook import GUARD_POINTS, OBSERVER_POINTS, HookKind, Verdict, VerdictKind
from neuraphage.model.hook_payload import Payload


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook.

    Args:
        name: what people and journals call it.
        kind: guard or observer.
        points: where it is asked, or the kinds of events that it is told of.
        call: what is called with the payload; a guard returns a Verdict, or None to allow.
        timeout_s: how long one call may take.
        origin: where it comes from: `package.module:object`, perhaps with the package that announces it.
    """

    name: str
    kind: HookKind
    points: tuple[str, ...]
    call: Callable[[Any], Any]
    timeout_s: float = DEFAULT_TIMEOUT_S
    origin: str = ""

    def __call__(self, payload: Payload) -> Any:
        """The function itself, for tests of it."""
        return self.call(payload)


def guard(*points: str, timeout_s: float = DEFAULT_TIMEOUT_S, name: str = "") -> Callable[[Callable[[Any], Any]], Hook]:
    """Declare a function as a guard.

    Args:
        points: names of points of guards, as PreToolUse.
        timeout_s: how long one call may take; then it has blocked.
        name: what people are told; the function's name if none is given.

    Raises:
        BadInput: there is no such point for guards, or the time is out of bounds.
    """
    wanted = tuple(dict.fromkeys(map(str, points)))
    known = [point.value for point in GUARD_POINTS]
    unknown = [point for point in wanted if point not in known]
    if unknown or not wanted:
        raise BadInput(f"guard: {', '.join(unknown) or 'nothing'} is no point of guards; these are: {', '.join(known)}")
    check_timeout(timeout_s)

    def declare(function: Callable[[Any], Any]) -> Hook:
        return Hook(name or function.__name__, HookKind.GUARD, wanted, function, timeout_s)

    return declare


def observer(
    *kinds: str, timeout_s: float = DEFAULT_TIMEOUT_S, name: str = ""
) -> Callable[[Callable[[Any], Any]], Hook]:
    """Declare a function as an observer.

    Args:
        kinds: points of observers, as TaskCompleted, or other kinds of events (docs/events.md).
        timeout_s: how long one call may take; then it has failed, and is tried again.
        name: under which it goes on where it was; the function's name if none is given.

    Raises:
        BadInput: there is no such event, or the time is out of bounds.
    """
    wanted = tuple(dict.fromkeys(map(str, kinds)))
    known = {point.value for point in OBSERVER_POINTS} | {kind.value for kind in EventKind}
    unknown = [kind for kind in wanted if kind not in known]
    if unknown or not wanted:
        what = ", ".join(unknown) or "nothing"
        raise BadInput(
            f"observer: {what} is no event; `neuraphage hooks list` has the points, docs/events.md all events"
        )
    check_timeout(timeout_s)

    def declare(function: Callable[[Any], Any]) -> Hook:
        return Hook(name or function.__name__, HookKind.OBSERVER, wanted, function, timeout_s)

    return declare


def check_timeout(timeout_s: float) -> None:
    """Raise BadInput where a hook would wait for ever, or for nothing."""
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise BadInput(f"timeout_s of a hook is {timeout_s:g}; it is above 0, and {MAX_TIMEOUT_S:g} at most")


def allow() -> Verdict:
    """As if the guard were not there; the same as None."""
    return Verdict(verdict=VerdictKind.ALLOW)


def block(reason: str) -> Verdict:
    """Not so; the reason is told to the model or to people."""
    return Verdict(verdict=VerdictKind.BLOCK, reason=reason)


def change(**parts: Any) -> Verdict:
    """Otherwise; which parts there are depends on the point, see docs/hooks.md.

    Raises:
        ValueError: there is no such part, or its value does not fit.
    """
    return Verdict(verdict=VerdictKind.CHANGE, **parts)


def answer(text: str, *, is_error: bool | None = None) -> Verdict:
    """Not at all: this is what comes of it."""
    return Verdict(verdict=VerdictKind.ANSWER, text=text, is_error=is_error)

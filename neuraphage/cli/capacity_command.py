"""`capacity`: what limits calls of models now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import harmless, print_json, print_wrapped
from neuraphage.decide.duration import clock_time

if TYPE_CHECKING:
    from neuraphage.model.capacity import GateView

_KINDS = {
    "requests": "calls",
    "tokens": "tokens",
    "input_tokens": "tokens of input",
    "output_tokens": "tokens of output",
}
_COOLING = {
    "rate_limited": "the provider refused a call (429, too many)",
    "overloaded": "the provider refused a call (529, overloaded)",
    "exhausted": "the provider said that nothing is left",
}
NOTHING = (
    "nothing is known to limit calls: no model_limits are in use, and no provider has told of its limits or refuses"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage capacity")(capacity)


def capacity(as_json: AsJson = False) -> None:
    """Show what limits calls of models now.

    For each family of models and each key: limits, what is used of them, until when a provider asked everybody to wait,
    and how many tasks wait. Changes nothing.
    """
    with connect_to_read() as api:
        gates = api.capacity()
    if as_json:
        print_json([gate.model_dump(mode="json") for gate in gates])
        return
    for line in [line for gate in gates for line in gate_lines(gate)] or [NOTHING]:
        print_wrapped(harmless(line, indent="    "), "    ")


def gate_lines(gate: GateView) -> list[str]:
    """Everything about one of them for people, a line each."""
    return [
        f"{gate.family}{f' (key {gate.key_pool})' if gate.key_pool else ''}",
        *_limits(gate),
        *_learned(gate),
        *_cooling(gate),
        *_waiting(gate),
    ]


def _limits(gate: GateView) -> list[str]:
    lines = [
        f"  {gate.used.get(kind, 0):,} of {most:,} {_KINDS[kind]} used within {gate.window_s:g} s"
        f" ({100 * gate.used.get(kind, 0) / max(1, most):.0f} %)"
        for kind, most in gate.limits.model_dump(exclude_none=True).items()
    ]
    if lines and gate.open_calls:
        lines.append(f"  {gate.open_calls:,} {'call is' if gate.open_calls == 1 else 'calls are'} under way")
    return lines


def _learned(gate: GateView) -> list[str]:
    told = [f"{most:,} {_KINDS[kind]}" for kind, most in gate.learned.model_dump(exclude_none=True).items()]
    if not told:
        return []
    kept = f"kept until {clock_time(gate.kept_until_ms)}" if gate.kept_until_ms else "not kept now"
    return [f"  learned: the provider allows {', '.join(told)} (said at {clock_time(gate.learned_at_ms)}; {kept})"]


def _cooling(gate: GateView) -> list[str]:
    if not gate.cooling_why:
        return []
    because = _COOLING.get(gate.cooling_why, gate.cooling_why)
    if gate.is_probed:
        return [f"  {because}; its time is over, and one call finds out whether it takes calls again"]
    return [f"  {because}: nobody calls until {clock_time(gate.cooling_until_ms)}"]


def _waiting(gate: GateView) -> list[str]:
    if not gate.waiting:
        return []
    count = sum(gate.waiting.values())
    by_priority = ", ".join(f"{tasks:,} of priority {priority}" for priority, tasks in gate.waiting.items())
    return [f"  {count:,} {'task waits' if count == 1 else 'tasks wait'}: {by_priority}"]

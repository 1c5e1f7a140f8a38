"""The guards of the limit of the time at work."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.ports import SuspendTo


def _running(name: str, old: str, new: str, test: str, script: str, **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"running::test_{test}", given)


RUNNING_MUTANTS = (
    _running(
        "a turn's time counts", "  add_held_time(row, set, now)\n", "", "turns_add_up", "finishing",
    ),
    _running(
        "the time of what is broken off counts", "add_held_time(row, set, now)\n", "",
        "each_lease_adds_what_it_lasted", "suspend", to=SuspendTo.TIMER,
    ),
    _running(
        "time at work adds up", "before + math.max(", "math.max(", "turns_add_up", "prelude",
    ),
    _running(
        "a death counts until the last renewal", "math.min(now, expiry - lease_ms)", "now",
        "a_death_counts_until_the_last_renewal", "recover",
    ),
    _running(
        "each lease counts from its claim", "  if row.max_running_ms then set.held_from = now end\n", "",
        "turns_add_up", "claiming",
    ),
    _running(
        "the limit of time forbids a call", "\n    or reached(value('running_ms') or 0, value('max_running_ms'))", "",
        "at_the_limit_it_fails_and_goes_on_with_a_higher_one", "prelude",
    ),
    _running(
        "a limit of time sent with a retry", "set.max_running_ms = raised.max_running_ms\n", "",
        "at_the_limit_it_fails_and_goes_on_with_a_higher_one", "revive",
    ),
)  # fmt: skip

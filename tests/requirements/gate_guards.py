"""Guards of a command's start in its sandbox, each as a change of the product that takes it away."""

from __future__ import annotations

from bugs import Bug

VANISHING = "tests/unit/sandbox/test_vanishing.py::"
GATE = "tests/unit/spool/test_spool_gate.py::"

GATE_GUARDS = (
    Bug(
        "gate-nobody-passes-unasked", "neuraphage/sandbox/limits.py",
        " || exit 126;", ";",
        VANISHING + "test_without_a_spool_it_does_not_begin_unasked",
    ),
    Bug(
        "gate-leaves-no-file-open", "neuraphage/sandbox/limits.py",
        "{STANDS}>&- {BEGIN}<&-", "{STANDS}>&-",
        VANISHING + "test_a_command_finds_nothing_of_its_gate",
    ),
    Bug(
        "gate-sandbox-made-anew", "neuraphage/tools/command_tool.py",
        "            confined = anew()\n", "            pass\n",
        VANISHING + "test_a_call_outlives_a_restless_neighbour",
    ),
    Bug(
        "gate-trial-repeated", "neuraphage/sandbox/choice.py",
        "for _ in range(_TRIALS)", "for _ in range(1)",
        VANISHING + "test_a_trial_beside_a_restless_neighbour_is_repeated",
    ),
    Bug(
        "gate-does-not-turn-in-circles", "neuraphage/spool/gate.py",
        "            self._is_open = False  # nobody", "            pass  # nobody",
        GATE + "test_who_cannot_be_told_any_more_sleeps",
    ),
)  # fmt: skip

"""Guards of anomalies, each as a change that takes it away, with a test that misses it."""

from __future__ import annotations

from bugs import Bug

SEEN = "neuraphage/decide/anomalies.py"
READ = "tests/unit/decide/test_anomalies.py::"
TURNS = "tests/unit/runtime/test_anomalies_in_turns.py::"

ANOMALY_GUARDS = (
    Bug(
        "what-is-repeated-changes-nothing", SEEN,
        "if not is_pure and self.is_new(at):", "if not is_pure and not call.is_error:",
        READ + "test_a_cycle_of_calls_is_seen",
    ),
    Bug(
        "a-look-changes-nothing", SEEN,
        "if not is_pure and self.is_new(at):", "if self.is_new(at):",
        READ + "test_the_same_call_that_fails_again_is_seen",
    ),
    Bug(
        "a-told-half-counts-on", SEEN,
        "if note.acted and note.kind is kind)", "if note.kind is kind)",
        READ + "test_the_model_is_told_once_when_half_is_reached",
    ),
    Bug(
        "each-kind-counts-for-itself", SEEN,
        "if note.acted and note.kind is kind)", "if note.acted)",
        READ + "test_what_was_acted_on_is_counted_anew_and_a_person_clears_all",
    ),
    Bug(
        "a-turn-is-not-stopped-twice-for-the-same", SEEN,
        "and any(note.kind is kind and note.turn == turn for note in history.notes)", "and False",
        READ + "test_what_a_turn_was_paused_for_does_not_pause_it_again",
    ),
    Bug(
        "a-person-ends-the-count", "neuraphage/decide/steps_taken.py",
        'if entry.get("said"):', "if False:",
        READ + "test_what_was_acted_on_is_counted_anew_and_a_person_clears_all",
    ),
    Bug(
        "a-message-that-waits-is-heard-first", "neuraphage/decide/turn_end.py",
        "if OnAnomaly.PAUSE in worst and not snapshot.is_spoken_to:", "if OnAnomaly.PAUSE in worst:",
        "tests/unit/decide/test_machine.py::test_what_is_seen_at_the_end_of_a_turn_is_warned_of_paused_or_failed",
    ),
    Bug(
        "what-it-was-stopped-for-is-stored", "neuraphage/runtime/turn_end.py",
        "                self._remark(action.remarks)\n                return work.suspend(",
        "                return work.suspend(",
        TURNS + "test_a_resume_counts_anew",
    ),
)  # fmt: skip

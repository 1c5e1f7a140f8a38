"""Guards of limits of models outside of the scripts: each as a change of the product that takes it away."""

from __future__ import annotations

from bugs import Bug

DECIDE = "neuraphage/decide/"
LEARNED, EXPECTED = DECIDE + "learned_limits.py", DECIDE + "expected_use.py"
HEADERS = "neuraphage/llm/rate_headers.py"
STEP, HEARD = "neuraphage/runtime/capacity_step.py", "neuraphage/runtime/limits_heard.py"
LEARNS = "tests/unit/decide/test_learned_limits.py::"
READS = "tests/unit/llm/test_rate_headers.py::"
SETTING = "tests/unit/settings/test_model_limits_setting.py::"
RATES = "tests/unit/decide/test_rates.py::"
IN_TURNS = "tests/unit/runtime/test_learned_limits_in_turns.py::"
SET_IN_TURNS = "tests/unit/runtime/test_model_limits_in_turns.py::"
KEPT = LEARNS + "test_a_limit_is_kept_when_little_of_it_is_left"
SERVERS = READS + "test_what_servers_write_is_read"
ONE_MORE = RATES + "test_when_one_more_may_begin"

LIMIT_GUARDS = (
    # what is learned
    Bug("learned-limits-of-days", LEARNED, " <= LONGEST_RESET_S", " <= math.inf", KEPT),
    Bug(
        "learned-limits-of-seconds",
        LEARNED,
        "if told.reset_s[kind] >= SHORTEST_RESET * share * length_s",
        "if True",
        KEPT,
    ),
    Bug("learned-while-much-is-left", LEARNED, "if used_up[kind] >= 1 - NEAR", "if True", KEPT),
    Bug("learned-huge-limits", LEARNED, " and most <= MOST_PER_MINUTE", "", KEPT),
    Bug(
        "learned-behind-what-is-set",
        LEARNED,
        " and kind not in set_ourselves",
        "",
        LEARNS + "test_what_is_set_goes_before_what_is_told",
    ),
    Bug(
        "learned-without-what-is-left",
        LEARNED,
        "if kind in told.left and ",
        "if ",
        LEARNS + "test_without_a_time_nothing_is_kept",
    ),
    Bug(
        "learned-by-a-refusal",
        LEARNED,
        "    if is_refused and not near:\n",
        "    if False:\n",
        LEARNS + "test_a_refusal_says_that_something_is_used_up",
    ),
    Bug(
        "learned-by-a-refusal-what-is-whole",
        LEARNED,
        "if used_up[kind] > 0]",
        "]",
        LEARNS + "test_a_refusal_says_that_something_is_used_up",
    ),
    Bug(
        "learned-as-of-then",
        LEARNED,
        " - answered_s) * 1000",
        ") * 1000",
        LEARNS + "test_what_the_provider_has_counted_counts_as_long_as_there",
    ),
    Bug(
        "learned-until-all-is-there-again",
        LEARNED,
        "min(told.reset_s[kind], length_s)",
        "length_s",
        LEARNS + "test_what_the_provider_has_counted_counts_as_long_as_there",
    ),
    Bug(
        "window-that-allows-none",
        LEARNED,
        "return MINUTE_S if 0 in",
        "return window_s if 0 in",
        LEARNS + "test_no_window_allows_less_than_one",
    ),
    Bug(
        "what-is-kept-exhausts-nobody",
        LEARNED,
        "told.reset_s.keys() - own",
        "told.reset_s.keys()",
        LEARNS + "test_what_workers_keep_themselves_holds_up_nobody",
    ),
    Bug(
        "expected-output-within-the-most",
        EXPECTED,
        "return min(max_tokens, max(",
        "return max(0, max(",
        LEARNS + "test_a_reply_is_expected_as_long_as_usual",
    ),
    Bug(
        "expected-input-while-cached",
        EXPECTED,
        " and now_ms - use.at_ms < (LONG_MS if use.hour else SHORT_MS)",
        "",
        LEARNS + "test_what_the_cache_holds_is_not_read",
    ),
    Bug(
        "expected-input-of-what-was-cached",
        EXPECTED,
        "use.read + use.written > 0 and ",
        "",
        LEARNS + "test_what_the_cache_holds_is_not_read",
    ),
    # headers
    Bug(
        "header-limit-of-none",
        HEADERS,
        "        if most is not None and not allowed:\n            continue\n",
        "",
        SERVERS,
    ),
    Bug("header-more-left-than-allowed", HEADERS, "min(rest, allowed) if allowed else rest", "rest", SERVERS),
    Bug("header-time-too-far", HEADERS, "min(max(after_s, 0.0), LONGEST_S)", "max(after_s, 0.0)", SERVERS),
    Bug("header-time-gone-by", HEADERS, "min(max(after_s, 0.0), LONGEST_S)", "min(after_s, LONGEST_S)", SERVERS),
    Bug("header-time-of-parts", HEADERS, 'and "".join(part[0] for part in parts) == text', "", SERVERS),
    Bug("header-unix-time", HEADERS, "    if number >= _EPOCH:\n", "    if False:\n", SERVERS),
    Bug("header-unix-time-in-ms", HEADERS, "number / 1_000 if number >= _EPOCH_MS else number", "number", SERVERS),
    Bug(
        "header-clock-of-the-provider",
        HEADERS,
        "return now_s if abs(now_s - theirs_s) <= AGREE_S else theirs_s",
        "return now_s",
        READS + "test_nothing_left_is_a_wait",
    ),
    Bug(
        "header-clock-that-agrees",
        HEADERS,
        "return now_s if abs(now_s - theirs_s) <= AGREE_S else theirs_s",
        "return theirs_s",
        READS + "test_nothing_left_is_a_wait",
    ),
    # turns
    Bug(
        "learned-limits-off",
        HEARD,
        'services.settings.learned_limits == "on"',
        "True",
        IN_TURNS + "test_what_people_have_set_goes_first",
    ),
    Bug(
        "learned-by-one-turn",
        HEARD,
        " and not is_settled\n",
        "\n",
        IN_TURNS + "test_only_one_turn_learns",
    ),
    Bug(
        "noted-when-it-changes",
        HEARD,
        "before is None or before[0] != told.limits or",
        "before is None or",
        SET_IN_TURNS + "test_what_a_provider_allows_is_noted_when_it_changes",
    ),
    Bug(
        "noted-once",
        HEARD,
        " or now_s - before[1] > NOTE_EVERY_S",
        " or True",
        SET_IN_TURNS + "test_what_a_provider_allows_is_noted_when_it_changes",
    ),
    Bug(
        "noted-beside-what-is-set",
        HEARD,
        "if told is None or (heard is None and self._configured is not None):",
        "if told is None:",
        SET_IN_TURNS + "test_what_a_provider_allows_is_noted_when_it_changes",
    ),
    Bug(
        "kept-limits-hold-up-nobody",
        STEP,
        "exhausted_s(reply.told, limits_in_force(self._limits, learned))",
        "exhausted_s(reply.told)",
        IN_TURNS + "test_the_last_of_what_is_allowed_is_used_and_nobody_is_refused",
    ),
    Bug(
        "a-late-call-asks-again",
        STEP,
        "clock.boottime_s() - self._asked_s > STALE_S",
        "False",
        SET_IN_TURNS + "test_a_call_that_is_sent_late_counts_from_then",
    ),
    Bug(
        "an-attached-call-is-settled",
        STEP,
        "        if self._limits is not None:\n            self._share, self._asked_s",
        "        if False:\n            self._share, self._asked_s",
        SET_IN_TURNS + "test_a_call_that_outlives_its_worker_counts_once_and_no_longer",
    ),
    Bug(
        "input-of-an-unanswered-call",
        STEP,
        "if self._share is not None and is_unanswered(fault.kind) else 0",
        "if False else 0",
        SET_IN_TURNS + "test_a_call_that_failed_counts_too",
    ),
    Bug(
        "input-of-a-refused-call",
        STEP,
        " and is_unanswered(fault.kind) else 0",
        " else 0",
        SET_IN_TURNS + "test_a_call_that_failed_counts_too",
    ),
    # limits that are set
    Bug(
        "set-limit-of-another-family",
        DECIDE + "model_limits.py",
        "by_family.get(ALL_FAMILIES)",
        "None",
        SETTING + "test_a_family_is_limited_by_its_own_line",
    ),
    Bug(
        "set-limit-twice",
        DECIDE + "model_limits.py",
        " or read[1] in found",
        "",
        SETTING + "test_what_is_wrong_is_told_with_the_form",
    ),
    Bug(
        "set-limit-of-a-release",
        DECIDE + "model_limits.py",
        "family != ALL_FAMILIES and family != model_family(family)",
        "False",
        SETTING + "test_what_is_wrong_is_told_with_the_form",
    ),
    Bug(
        "set-limit-in-range",
        DECIDE + "model_limits.py",
        "1 <= number <= MOST_PER_MINUTE",
        "number <= MOST_PER_MINUTE",
        SETTING + "test_what_is_wrong_is_told_with_the_form",
    ),
    # rates of tools
    Bug(
        "rate-of-a-clock-set-back",
        DECIDE + "rates.py",
        "        if began_ms < now_ms + MINUTE_MS:\n            recent",
        "        if True:\n            recent",
        ONE_MORE,
    ),
    Bug(
        "rate-of-a-clock-a-little-back",
        DECIDE + "rates.py",
        "min(sorted(recent)[-most], now_ms)",
        "sorted(recent)[-most]",
        ONE_MORE,
    ),
)

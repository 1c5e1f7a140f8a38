"""The scripted model of `neuraphage demo`: repairs the project that the demo copies.

A pure function of the request, like every script: it looks at the results so far and answers. It reads before
it writes, and it trusts only a test run that it has seen end.
"""

from __future__ import annotations

import shlex
import sys

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply

TEST_COMMAND = (
    f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -B -m pytest -q -p no:cacheprovider tests"
)
THINKING_PACE = Pace(first_byte_delay_s=0.1, between_events_s=0.05, chunk_chars=6)
"""Slow enough to be killed in the middle of a reply."""
EDITS = (
    {"path": "shop/basket.py", "old_string": "sum(prices_cents[1:])", "new_string": "sum(prices_cents)"},
    {"path": "shop/basket.py", "old_string": "percent // 10\n", "new_string": "percent // 100\n"},
)
MAX_TEST_RUNS = 4


def repair(request: ScriptRequest) -> ScriptedReply:
    """The next step of the repair."""
    done = [outcome for outcome in request.tool_results if not outcome.is_error]
    names = [outcome.name for outcome in done]
    runs = [outcome for outcome in request.tool_results if outcome.name == "run_command"]
    if "list_directory" not in names:
        return reply("I look at the project first.", tools=[("list_directory", {"path": "."})])
    if not runs:
        return _run_tests("I run its tests to see what fails.")
    if runs[-1].text.rstrip().endswith("[exit code 0]"):
        return reply("All tests pass now. total_cents dropped the first price, and discount_cents divided by ten.")
    if not runs[-1].text.rstrip().endswith("]"):
        return _again(len(runs), "The test run was interrupted and tells nothing, so I run it again.")
    if "read_file" not in names:
        return _read()
    if "edit" not in [outcome.name for outcome in request.tool_results]:
        return reply(
            "The first price is skipped, and the discount divides by ten instead of a hundred. I correct both.",
            tools=[("edit", dict(edit)) for edit in EDITS],
        )
    return _again(len(runs), "I run the tests again.")


def _read() -> ScriptedReply:
    text = (
        "Two of the three tests fail. Both failures point at shop/basket.py: the total is too small by the first "
        "price, and the discount is ten times too large. I read that file before I change anything in it."
    )
    return reply(text, tools=[("read_file", {"path": "shop/basket.py"})], pace=THINKING_PACE)


def _run_tests(text: str) -> ScriptedReply:
    return reply(text, tools=[("run_command", {"command": TEST_COMMAND, "timeout_ms": 60_000})])


def _again(runs: int, text: str) -> ScriptedReply:
    if runs >= MAX_TEST_RUNS:
        reason = "The tests still fail after the corrections that I know of."
        return reply(tools=[("fail_task", {"reason": reason})])
    return _run_tests(text)

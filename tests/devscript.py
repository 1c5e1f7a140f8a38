"""The scripted model of the tests of `neuraphage dev`: adds up numbers that it finds in files it did not know.

It finds the files, reads all of them, then writes the sum (streamed slowly), corrects one file, and runs a
command that takes a while and leaves a line at its start and at its end.
"""

from __future__ import annotations

import re

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, ToolOutcome, reply

VALUE = re.compile(r"value=(-?\d+)")
TOTAL = "total.txt"
LOG = "runs.log"
GO = "go-on"
COMMAND = f"echo begin >> {LOG}; sleep 5; cat {TOTAL} > copy.txt; echo end >> {LOG}"
HELD_COMMAND = COMMAND.replace("sleep 5", f"while [ ! -e {GO} ]; do sleep 0.1; done")
SUMMING = "I have read every file before I write anything. " * 10
SLOW = Pace(between_events_s=0.05, chunk_chars=4)
VERY_SLOW = Pace(between_events_s=1.0, chunk_chars=4)
VERY_SLOWLY = "very slowly"
"""A prompt with these words has the sum streamed for two minutes when it is asked for the first time, and a command
that goes on until a file is there."""
_asked: set[str] = set()


def add_up(request: ScriptRequest) -> ScriptedReply:
    """The next step."""
    done = {outcome.name: outcome for outcome in request.tool_results}
    if "glob" not in done:
        return reply("I look for the files.", tools=[("glob", {"pattern": "**/*.txt"})])
    if "read_file" not in done:
        names = sorted(done["glob"].text.splitlines())
        return reply("I read all of them.", tools=[("read_file", {"path": name}) for name in names])
    if "write_file" not in done:
        total = sum(value_of(outcome) for outcome in reads(request))
        pace = VERY_SLOW if VERY_SLOWLY in request.prompt and request.request_hash not in _asked else SLOW
        _asked.add(request.request_hash)
        return reply(SUMMING, tools=[("write_file", {"path": TOTAL, "content": f"{total}\n"})], pace=pace)
    if "edit" not in done:
        first = reads(request)[0]
        value = value_of(first)
        change = {"path": first.input["path"], "old_string": f"value={value}", "new_string": f"value={value + 1}"}
        return reply("I raise the first value.", tools=[("edit", change)])
    if "run_command" not in done:
        command = HELD_COMMAND if VERY_SLOWLY in request.prompt else COMMAND
        return reply("I run a command.", tools=[("run_command", {"command": command, "timeout_ms": 300_000})])
    return reply(f"The command said: {done['run_command'].text}")


def reads(request: ScriptRequest) -> list[ToolOutcome]:
    """What reading each file gave, in the order of their names."""
    found = [outcome for outcome in request.tool_results if outcome.name == "read_file"]
    return sorted(found, key=lambda outcome: str(outcome.input["path"]))


def value_of(outcome: ToolOutcome) -> int:
    """The number in a file."""
    found = VALUE.search(outcome.text)
    return int(found.group(1)) if found else 0

"""The scripted model of the tests of `neuraphage run`: what it does follows from the first word of the prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply

STREAMED = Pace(between_events_s=0.01, chunk_chars=7)
SLOW = Pace(between_events_s=0.04, chunk_chars=12)
THOUGHT = "Let me see what there is before I say anything at all about it."
LOOK = (
    "I look at the greeting first, and then I say what I think of it, in one sentence that is a good deal longer "
    "than a line of most terminals, so that it has to go on in the next one."
)
LONG = "Every word of this reply takes its time. " * 12
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m"
DONE = f"It is polite now.{EVIL}"
COMMAND = "printf 'line 1 of the output\\n'; seq 20; printf '\\033[2Jcleared\\n'"
INTRODUCTION = "There are two greetings, and I cannot tell which of them is meant."
QUESTION = "Which of the two greetings should it be?"
OPTIONS = ["Good day", "Good evening, and welcome"]
FILE = "greet.py"
BEFORE = '"""Greets people."""\n\n\ndef greet(name):\n    return "hi " + name\n\n\nprint(greet("Ada"))\n'
CHANGE = {
    "path": FILE,
    "old_string": '    return "hi " + name',
    "new_string": '    title = "Dr. "\n    return "Good day, " + title + name  # a line wider than the others',
}


def play(request: ScriptRequest) -> ScriptedReply:
    """The next step."""
    scripts = {"held": _held, "polite": _polite, "slow": _slow, "ask": _ask, "fail": _fail, "talk": _talk}
    return scripts[request.prompt.split()[0]](request)


def _polite(request: ScriptRequest) -> ScriptedReply:
    done = {outcome.name for outcome in request.tool_results}
    if "read_file" not in done:
        return reply(LOOK, thinking=THOUGHT, tools=[("read_file", {"path": FILE})], pace=STREAMED)
    if "edit" not in done:
        return reply("I make it polite.", tools=[("edit", dict(CHANGE))])
    if "run_command" not in done:
        return reply("I run it.", tools=[("run_command", {"command": COMMAND})])
    return reply(DONE)


def _slow(request: ScriptRequest) -> ScriptedReply:
    if not request.tool_results:
        return reply(LONG, tools=[("write_file", {"path": "slow.txt", "content": "slow\n"})], pace=SLOW)
    return reply("That took a while.")


def _held(request: ScriptRequest) -> ScriptedReply:
    """As slow, until the file is there that the second word names."""
    if not request.tool_results:
        pace = replace(SLOW, until=Path(request.prompt.split()[1]))
        return reply(LONG, tools=[("write_file", {"path": "slow.txt", "content": "slow\n"})], pace=pace)
    return reply("That took a while.")


def _ask(request: ScriptRequest) -> ScriptedReply:
    if not request.tool_results:
        return reply(INTRODUCTION, tools=[("ask_user", {"question": QUESTION, "options": OPTIONS})])
    return reply(f"You said: {request.tool_results[0].text}")


def _fail(request: ScriptRequest) -> ScriptedReply:
    return reply(tools=[("fail_task", {"reason": "There is nothing to greet."})])


def _talk(request: ScriptRequest) -> ScriptedReply:
    return reply(f"This is answer {request.turn}.")

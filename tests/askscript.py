"""The scripted model of the tests of answering: what it does follows from the first word of the prompt."""

from __future__ import annotations

from neuraphage.testing.scripted_api import ScriptedReply, ScriptRequest, reply

LONG = "\n".join([": a step"] * 300 + ["touch hidden"])


def play(request: ScriptRequest) -> ScriptedReply:
    """The next step."""
    done = len(request.tool_results)
    match request.prompt.split()[0], done:
        case "ask", 0:
            return reply(tools=[("ask_user", {"question": "What should it say?"})])
        case "twice", 0:
            return reply(tools=[("run_command", {"command": f"touch {name}"}) for name in ("one", "two")])
        case "twice", 2:
            return reply(tools=[("run_command", {"command": "touch three"})])
        case "long", 0:
            return reply(tools=[("run_command", {"command": LONG})])
    return reply("Done.")

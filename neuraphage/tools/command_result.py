"""What a command came to, as the model reads it."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from neuraphage.decide.given_result import interrupted_result
from neuraphage.decide.shorten import printable, shorten
from neuraphage.model.detached import DetachedState
from neuraphage.model.sandbox import RefusedHost
from neuraphage.model.tool import ToolResult
from neuraphage.ports import SpoolStatus
from neuraphage.tools.endless_programs import why_endless

OUTPUT_LIMIT_CHARS = 30_000
_MOST_NAMED = 5
"""Of refused hosts."""

_KNOWN = {
    DetachedState.ABSENT: "There is no record of it on this machine",
    DetachedState.SEALED: "It had not started, and it never will under this call",
    DetachedState.LOST: "It was started, and its process is gone without having left an exit status",
    DetachedState.RUNNING: "It was still running when last seen",
}


def result_of_status(
    status: SpoolStatus,
    *,
    command: str,
    timeout_s: float,
    output_limit_chars: int = OUTPUT_LIMIT_CHARS,
    refused: Sequence[RefusedHost] = (),
) -> ToolResult:
    """Turn the spool's last word on a command into a result.

    Args:
        status: from `Spool.wait` or `Spool.look`.
        command: the command line, for a status that does not tell the outcome.
        timeout_s: the limit it ran under.
        output_limit_chars: most characters of the text.
        refused: hosts that it was refused.
    """
    if status.state is not DetachedState.DONE:
        known = _KNOWN[status.state]
        unknown = interrupted_result(
            command, f"{known}. Its output so far: {shorten(status.output, 2_000)}" if status.output else known
        )
        return unknown.model_copy(update={"refused": tuple(refused)})
    last_line = f"[{_ending(status, timeout_s)}]"
    if status.left_behind:
        last_line = f"[processes left in the background, ended now: {status.left_behind}]\n{last_line}"
    if refused:
        last_line = f"[{_refusals(refused)}]\n{last_line}"
    output = printable(status.output).rstrip("\n")
    if status.reason == "timeout" and (why := why_endless(command, output)):
        last_line = f"[{why}]\n{last_line}"
    body = shorten(output, output_limit_chars - len(last_line) - 1) if output else "[no output]"
    is_error = status.exit_code != 0 or status.reason not in {None, "exited"}
    left_out = status.output_bytes if status.output_bytes > len(body.encode()) else 0
    text = f"{body}\n{last_line}"
    return ToolResult(text=text, is_error=is_error, refused=tuple(refused), output_bytes=left_out)


def _refusals(refused: Sequence[RefusedHost]) -> str:
    names = ", ".join(one.place for one in refused[:_MOST_NAMED])
    more = f" and {len(refused) - _MOST_NAMED} more" if len(refused) > _MOST_NAMED else ""
    return (
        f"refused hosts: {names}{more}. Commands reach none that a person has not allowed, by the setting allow_hosts,"
        " by a rule `allow host: NAME`, or when asked about this one"
    )


def _ending(status: SpoolStatus, timeout_s: float) -> str:
    match status.reason:
        case "timeout":
            return f"timed out after {timeout_s:g} s; the command was ended"
        case "cancelled":
            return "cancelled; the command was ended"
        case "output_limit":
            return "output limit reached; the command was ended. Write the output to a file, or filter it"
        case "memory_limit":
            return "memory limit reached (command_memory_bytes); the command was ended. Work on less at a time"
        case "lease_moved":
            return "ended before its time: the task moved to another machine"
        case _ if status.exit_code is None:
            return "exit code unknown"
        case _ if status.exit_code < 0:
            return f"killed by signal {_signal_name(-status.exit_code)}"
        case _:
            return f"exit code {status.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)

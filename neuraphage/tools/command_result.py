"""What a command came to, as the model reads it. The turn uses these too, when it attaches after a recovery."""

from __future__ import annotations

import signal

from neuraphage.model.tool import ToolResult
from neuraphage.ports import SpoolState, SpoolStatus
from neuraphage.tools.shorten import printable, shorten

OUTPUT_LIMIT_CHARS = 30_000
_COMMAND_SHOWN_CHARS = 500

_KNOWN = {
    SpoolState.ABSENT: "There is no record of it on this machine",
    SpoolState.SEALED: "It had not started, and it never will under this call",
    SpoolState.LOST: "It was started, and its process is gone without having left an exit status",
    SpoolState.RUNNING: "It was still running when last seen",
}


def interrupted_result(command: str, known: str) -> ToolResult:
    """The result of a command whose outcome is unknown.

    Args:
        command: the command line.
        known: a sentence of what is known (without the full stop).
    """
    shown = shorten(printable(command), _COMMAND_SHOWN_CHARS)
    text = (
        f"The command was interrupted and its outcome is unknown: it may have run fully, in part, or not at all.\n"
        f"Command: {shown}\n"
        f"What is known: {printable(known).rstrip('.')}.\n"
        f"Look at what it would have changed before you decide whether to run it again."
    )
    return ToolResult(text=text, is_error=True, unknown_outcome=True)


def result_of_status(
    status: SpoolStatus, *, command: str, timeout_s: float, output_limit_chars: int = OUTPUT_LIMIT_CHARS
) -> ToolResult:
    """Turn the spool's last word on a command into a result.

    Args:
        status: from `Spool.wait` or `Spool.look`.
        command: the command line, for a status that does not tell the outcome.
        timeout_s: the limit it ran under.
        output_limit_chars: most characters of the text.
    """
    if status.state is not SpoolState.DONE:
        known = _KNOWN[status.state]
        return interrupted_result(
            command, f"{known}. Its output so far: {shorten(status.output, 2_000)}" if status.output else known
        )
    last_line = f"[{_ending(status, timeout_s)}]"
    if status.left_behind:
        last_line = f"[processes left in the background, ended now: {status.left_behind}]\n{last_line}"
    output = printable(status.output).rstrip("\n")
    body = shorten(output, output_limit_chars - len(last_line) - 1) if output else "[no output]"
    is_error = status.exit_code != 0 or status.reason not in {None, "exited"}
    return ToolResult(text=f"{body}\n{last_line}", is_error=is_error)


def _ending(status: SpoolStatus, timeout_s: float) -> str:
    match status.reason:
        case "timeout":
            return f"timed out after {timeout_s:g} s; the command was ended"
        case "cancelled":
            return "cancelled; the command was ended"
        case "output_limit":
            return "output limit reached; the command was ended. Write the output to a file, or filter it"
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

"""What `dev` shows: one quiet line a process, and what happens to them afterwards with its time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.cells import cell_len

from neuraphage.cli.console import BROKEN_PIPE_EXIT, erase_line, harmless, out, print_wrapped
from neuraphage.dev.process_spec import ProcessChange, ProcessSpec, ProcessState
from neuraphage.dev.stop_request import StopRequest

_STYLES = {ProcessState.READY: "dim", ProcessState.EXITED: "yellow", ProcessState.FAILED: "red"}
_UNSAID = frozenset({ProcessState.STARTING, ProcessState.STOPPED})
_INDENT = "  "


class StackView:
    """Shows a stack. When nobody can see it any more (a closed terminal or pipe), the stack is asked to stop.

    Args:
        specs: the processes.
        stop: asked when the output is gone.
    """

    def __init__(self, specs: Iterable[ProcessSpec], stop: StopRequest) -> None:
        self._addresses = {spec.name: spec.address for spec in specs}
        self._stop = stop
        self._is_up = False
        self.exit_code = 0

    def change(self, change: ProcessChange) -> None:
        """Show a change of a process."""
        if change.state in _UNSAID or (change.state is ProcessState.FAILED and not self._is_up):
            return  # a failed start is told once, by the error that ends the command
        if change.state is ProcessState.STOPPING and change.pid is None:
            return  # it has ended this very moment, and nobody waits for it
        lead = f"{datetime.now().astimezone():%H:%M:%S} " if self._is_up else _INDENT
        width = max(map(cell_len, self._addresses))
        line = f"{lead}{change.name:<{width}}  {change_text(change, self._addresses.get(change.name, ''))}"
        self.say(line, _STYLES.get(change.state, ""))

    def up(self, text: str) -> None:
        """Say that all are ready; later changes are shown with their time."""
        self._is_up = True
        self.say(text)

    def stopping(self, text: str) -> None:
        """Say so in place of the mark that a terminal leaves of Ctrl-C."""
        self.say(text, over_mark=True)

    def say(self, text: str, style: str = "", *, over_mark: bool = False) -> None:
        """Show a line, if there is anyone to see it."""
        if self.exit_code:
            return
        try:
            if over_mark and out.is_terminal:
                erase_line(out)
            print_wrapped(harmless(text, style, indent=_INDENT * 2), _INDENT * 2)
        except (OSError, SystemExit):
            self.exit_code = BROKEN_PIPE_EXIT
            self._stop.ask_gently()


def change_text(change: ProcessChange, address: str) -> str:
    """A change in one line, but for the last lines of a log. Pure.

    Args:
        change: of a process.
        address: of that process, for people.
    """
    if change.state is ProcessState.READY:
        return f"ready  pid {change.pid}" + (f"  {address}" if address else "")
    if change.state is ProcessState.STOPPING:
        return f"still stopping  pid {change.pid}: it ends its work in hand; Ctrl-C again ends it at once"
    log = f"; log {change.log}" if change.log is not None and "\n" not in change.detail else ""
    return f"{change.state.value}: {change.detail}{log}"

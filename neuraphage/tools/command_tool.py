"""run_command: a shell command in a process of its own, through the spool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from neuraphage.decide.given_result import interrupted_result
from neuraphage.errors import ConfinementFailed, SpoolError
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import Sandbox, Spool, SpoolCommand, SpoolStatus, ToolContext
from neuraphage.tools.base import Params, ParsedTool, Text, ToolCallError, input_schema, no_nul
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.command_result import result_of_status
from neuraphage.tools.environment import clean_environment, marked
from neuraphage.tools.paths import working_root

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_S = 1_800.0
END_GRACE_S = 30.0
"""Time beyond a command's own limit in which its end must have been seen."""
_STARTS = 8
"""Something that a sandbox hides or shows (a socket of another program) may be gone before it stands, and again. One
that can never come up costs so many tenths of a second."""
_MAX_COMMAND_BYTES = 100_000  # the kernel takes 128 KiB an argument


def start_confined(spool: Spool, confined: SpoolCommand, anew: Callable[[], SpoolCommand]) -> None:
    """Start a command; where its sandbox did not come up, with a sandbox made anew, a few times.

    Args:
        spool: where it runs.
        confined: the command as it is to be started.
        anew: makes it once more, by what is there then.

    Raises:
        SpoolError: it was not started.
    """
    for _ in range(_STARTS - 1):
        try:
            spool.start(confined)
        except ConfinementFailed:
            confined = anew()
        else:
            return
    spool.start(confined)


def _fits_an_argument(value: str) -> str:
    if len(value.encode("utf-8", "replace")) > _MAX_COMMAND_BYTES:
        raise ValueError(f"is over {_MAX_COMMAND_BYTES} bytes; write it to a script with write_file and run that")
    return value


class RunCommandParams(Params):
    """Parameters of run_command."""

    command: Annotated[
        Text,
        AfterValidator(no_nul),
        AfterValidator(_fits_an_argument),
        Field(min_length=1, description="Shell command line. It has no terminal and no input."),
    ]
    timeout_ms: Annotated[
        int,
        Field(
            ge=1, description="Milliseconds after which the command is ended; a higher value than allowed is lowered."
        ),
    ] = DEFAULT_TIMEOUT_MS


class RunCommand(ParsedTool[RunCommandParams]):
    """Run a shell command in the working directory.

    Args:
        max_timeout_s: longest time a command may ask for.
        environ: environment to choose variables from; the process's own by default.
        extra_names: further variables that commands get.
        sandbox: confines commands; None for nothing.
    """

    params_model = RunCommandParams

    def __init__(
        self,
        max_timeout_s: float = MAX_TIMEOUT_S,
        environ: Mapping[str, str] | None = None,
        extra_names: Iterable[str] = (),
        sandbox: Sandbox | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._max_timeout_s = max_timeout_s
        self._env = clean_environment(os.environ if environ is None else environ, extra_names)
        self._shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        super().__init__(
            ToolDeclaration(
                name="run_command",
                description=(
                    "Run a shell command in the working directory and show its output (stdout and stderr as"
                    " they came) and"
                    " exit code. No editor opens and nobody answers questions: give messages and answers as options"
                    f" (git commit -m). Default limit {DEFAULT_TIMEOUT_MS} ms, highest {max_timeout_s * 1000:.0f} ms."
                    f"{sandbox.told if sandbox is not None else ''}"
                ),
                input_schema=input_schema(RunCommandParams),
                effect_class=EffectClass.OPAQUE,
                side_effecting=True,
                timeout_s=max_timeout_s + END_GRACE_S,
                detached=True,
                traits=BUILTIN_TRAITS["run_command"],
                sandbox=sandbox.name if sandbox is not None else "",
                confined=sandbox is not None and sandbox.is_closed,
                has_way_out=sandbox is not None and sandbox.has_way_out,
            )
        )

    def timeout_s(self, params: Mapping[str, object]) -> float:
        """The limit in seconds that a call with these (valid) parameters runs under."""
        return self._limit_s(RunCommandParams.model_validate(dict(params)))

    def carry_out(self, params: RunCommandParams, context: ToolContext) -> ToolResult:
        """Start it (or find it started) and wait for its end."""
        command = SpoolCommand(
            effect_id=context.effect_id,
            argv=(self._shell, "-c", params.command),
            cwd=str(working_root(context.working_dir)),
            timeout_s=self._limit_s(params),
            env=marked(self._env, context.task_id),
            task_id=context.task_id,
        )
        limit_chars = min(context.output_limit_chars, self.declaration.output_limit_chars)
        with ExitStack() as around:
            try:
                confined = self._confined(command, context)
                around.enter_context(self.accompanied(context))
                start_confined(context.spool, confined, lambda: self._confined(command, context))
            except SpoolError as error:
                raise ToolCallError(
                    f"The command could not be started: {error}. It did not run; try again later or ask the user."
                ) from error
            try:
                status = context.spool.wait(context.effect_id, limit_chars, context.interrupt)
            except SpoolError as error:
                return interrupted_result(params.command, f"It was started, but its record cannot be read: {error}")
        return self._result(params, status, limit_chars, context.effect_id)

    def _confined(self, command: SpoolCommand, context: ToolContext) -> SpoolCommand:
        if self._sandbox is None or context.outside_sandbox:
            return command
        return self._sandbox.confined(command, context.reach)

    def accompanied(self, context: ToolContext) -> AbstractContextManager[None]:
        """Its way to the network is this process's."""
        return nullcontext() if self._sandbox is None else self._sandbox.served(context.effect_id)

    def detached_result(self, params: Mapping[str, object], status: SpoolStatus, context: ToolContext) -> ToolResult:
        """The result of a command by the spool's last word on it."""
        parsed = RunCommandParams.model_validate(dict(params))
        limit_chars = min(context.output_limit_chars, self.declaration.output_limit_chars)
        return self._result(parsed, status, limit_chars, context.effect_id)

    def _result(self, params: RunCommandParams, status: SpoolStatus, limit_chars: int, effect_id: str) -> ToolResult:
        refused = () if self._sandbox is None else self._sandbox.refused(effect_id)
        # found again under another worker's settings, it still ran under the limit that its record names
        timeout_s = self._limit_s(params) if status.timeout_s is None else status.timeout_s
        return result_of_status(
            status,
            command=params.command,
            timeout_s=timeout_s,
            output_limit_chars=limit_chars,
            refused=refused,
        )

    def _limit_s(self, params: RunCommandParams) -> float:
        return min(params.timeout_ms / 1000, self._max_timeout_s)

"""A hook that is a program: JSON on its standard input, its verdict as JSON on standard output, no shell between.

Whatever it does beside that is a failure: another exit status than 0, nothing or something else on standard output, too
much of it, or more time than it has. A guard that fails has blocked.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import ValidationError

from neuraphage.decide.shell_hooks import ShellHookLine
from neuraphage.errors import NeuraphageError
from neuraphage.hooks.declaring import Hook
from neuraphage.inside_command import MARK
from neuraphage.model.hook import HookKind, Verdict
from neuraphage.model.hook_payload import Payload
from neuraphage.ports import SpoolCommand

KEPT_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Of the worker's environment, which holds its keys too, a program gets these alone."""
MAX_OUTPUT_BYTES = 1_000_000
TOLD_CHARS = 500
"""Of what it wrote to standard error."""
SLACK_S = 2.0
"""Its end by the clock of this file comes before that of the thread that waits for it."""
_POLL_S = 0.02
Confine = Callable[[SpoolCommand], SpoolCommand]
"""Makes of a command one that is confined, and that runs at once."""


class ProgramFailed(Exception):
    """A program has not said what a hook says; the text says what it did."""


def shell_hook(line: ShellHookLine, name: str, confine: Confine) -> Hook:
    """The hook of a line of the settings.

    Args:
        line: the line.
        name: what it is called.
        confine: puts a sandbox around it.
    """

    def call(payload: Payload) -> Verdict | None:
        output = _run(line, payload, confine)
        return _verdict(output) if line.kind is HookKind.GUARD else None

    return Hook(name, line.kind, line.points, call, line.timeout_s + SLACK_S, " ".join(line.argv))


def _verdict(output: bytes) -> Verdict:
    if not output.strip():
        raise ProgramFailed('it said nothing; write {"verdict": "allow"} to allow')
    try:
        return Verdict.model_validate_json(output)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'verdict'}: {one['msg']}" for one in error.errors())
        raise ProgramFailed(f"it wrote no verdict to standard output: {wrong[:TOLD_CHARS]}") from None


def _run(line: ShellHookLine, payload: Payload, confine: Confine) -> bytes:
    """What the program wrote to standard output.

    Raises:
        ProgramFailed: it did not start, failed, wrote too much, or took too long; nothing of it runs any more.
    """
    point = getattr(payload, "point", None)
    given = {**payload.model_dump(mode="json"), **({} if point is None else {"point": point.value})}
    environ = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {MARK: payload.task_id}
    command = SpoolCommand(secrets.token_hex(16), line.argv, _folder(payload), line.timeout_s, environ, payload.task_id)
    with tempfile.TemporaryFile() as stdin:  # a file: a program that reads none of it breaks no pipe
        stdin.write(json.dumps(given).encode())
        stdin.seek(0)
        try:
            command = confine(command)
            process = subprocess.Popen(  # noqa: S603 - the person's own program, without a shell
                command.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=command.cwd,
                env=dict(command.env), start_new_session=True,
            )  # fmt: skip
        except (OSError, NeuraphageError) as error:
            raise ProgramFailed(f"it could not be started: {error}") from None
    try:
        output, errors = _read(process, line.timeout_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also what it has left behind
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if process.returncode:
        said = errors.decode(errors="replace").strip()[-TOLD_CHARS:]
        raise ProgramFailed(f"it ended with status {process.returncode}" + (f": {said}" if said else ""))
    return output


def _folder(payload: Payload) -> str:
    folder = payload.working_dir
    return folder if folder is not None and pathlib.Path(folder).is_dir() else "/"


def _read(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[bytes, bytes]:
    """Standard output and error until the program has ended, whatever it has left behind holds them open."""
    deadline_s = time.monotonic() + timeout_s
    found: dict[str, bytes] = {"out": b"", "err": b""}
    with selectors.DefaultSelector() as waiting:
        for name, pipe in (("out", process.stdout), ("err", process.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                waiting.register(pipe, selectors.EVENT_READ, name)
        while True:
            is_over = process.poll() is not None
            for key, _ in waiting.select(0 if is_over else _POLL_S):
                more = os.read(key.fd, 65_536)
                if not more:
                    waiting.unregister(key.fileobj)
                found[key.data] += more
                if len(found[key.data]) > MAX_OUTPUT_BYTES:
                    raise ProgramFailed(f"it wrote more than {MAX_OUTPUT_BYTES} bytes")
                is_over = False
            if is_over:
                return found["out"], found["err"]
            if time.monotonic() > deadline_s:
                raise ProgramFailed(f"it did not end within {timeout_s:g} s")
            if not waiting.get_map():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)


def numbered(lines: Mapping[str, ShellHookLine], confine: Confine, taken: frozenset[str]) -> list[Hook]:
    """The hooks of all lines; of two with one name the later one gets a number.

    Args:
        lines: of the settings, by their text.
        confine: puts a sandbox around each.
        taken: names of other hooks.
    """
    hooks: list[Hook] = []
    names = set(taken)
    for text, line in lines.items():
        number, name = 1, line.name
        while name in names:
            number += 1
            name = f"{line.name}-{number}"
        names.add(name)
        hooks.append(replace(shell_hook(line, name, confine), origin=text))
    return hooks

"""`neuraphage` and `np`: every command, and the translation of errors into exit codes.

Exit codes: 0 done, 1 it did not work, 2 the call was wrong, 3 the task waits for a person, 130 interrupted,
141 the reader of our output went away.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from neuraphage import __version__
from neuraphage.cli.command_table import CommandTable
from neuraphage.cli.console import BROKEN_PIPE_EXIT, be_lenient, complain, out
from neuraphage.cli.exit_codes import INTERRUPTED_EXIT
from neuraphage.cli.hints import typed_here
from neuraphage.cli.lazy_imports import LAZY, NEVER, import_lazily, import_never
from neuraphage.errors import BadInput, NeuraphageError

USAGE_ERROR: type[Any] = typer.BadParameter.__mro__[2]
"""The base of what typer raises for a wrong call; typer carries its own copy of click or uses the installed one."""

LEAST_HELP_COLUMNS = 52
"""What typer makes of a narrower terminal does not fit it."""
LEAST_TEXT_COLUMNS = 10
"""typer's help raises an error below six."""


def _width_of_help() -> dict[str, Any]:
    columns = shutil.get_terminal_size().columns
    return {"terminal_width": max(columns - 2, LEAST_TEXT_COLUMNS)} if 0 < columns < LEAST_HELP_COLUMNS else {}


app = typer.Typer(
    name="neuraphage",
    cls=CommandTable,
    help="Run LLM agent tasks that survive any crash.",
    epilog="Example: neuraphage demo",
    context_settings=_width_of_help(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"neuraphage {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Run LLM agent tasks that survive any crash."""


def main() -> None:
    """Run the command line; never shows a traceback for what a user can put right."""
    for package in LAZY:
        import_lazily(package)
    for package in NEVER:
        import_never(package)
    be_lenient()
    sys.exit(_written_out(exit_code_of(lambda: app(standalone_mode=False), sys.argv[1:])))


def _written_out(code: int) -> int:
    """Write out what is still held back; the interpreter would tell of a failure in words of its own."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code == 0:
            complain(_what_the_system_said(error))
        return code or 1
    return code


def exit_code_of(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command and translate how it ended.

    Args:
        run: the command.
        arguments: of the command line, checked to be text.
    """
    try:
        _refuse_broken_text(arguments)
        code = run()
    except USAGE_ERROR as error:
        return _usage(error)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED_EXIT
    except BadInput as error:
        complain(typed_here(str(error)))
        return 2
    except NeuraphageError as error:
        complain(typed_here(str(error)))
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return BROKEN_PIPE_EXIT
    except OSError as error:
        complain(_what_the_system_said(error))
        return 1
    return code if isinstance(code, int) else 0


def _what_the_system_said(error: OSError) -> str:
    if error.filename is None and isinstance(error, FileNotFoundError) and _directory_is_gone():
        return "the current directory is gone; change to one that exists"
    return f"{error.filename or 'a file or connection'}: {error.strerror or error}"


def _directory_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _refuse_broken_text(arguments: Sequence[str]) -> None:
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            raise BadInput(f"argument {number} is not UTF-8 text: {argument!a}; write it in UTF-8") from None


def _usage(error: Any) -> int:
    """One line about a wrong call; a call without any argument gets the help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        out.print(error.format_message())
        return 2
    path = error.ctx.command_path if getattr(error, "ctx", None) else "neuraphage"
    said = error.format_message().replace("Value error, ", "").rstrip(".")  # pydantic's words say nothing to people
    complain(f"{said}; see: {path} --help")
    return 2

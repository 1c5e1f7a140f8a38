"""`neuraphage` and `np`: every command, and the translation of errors into exit codes.

Exit codes: 0 done, 1 it did not work, 2 the call was wrong, 3 the task waits for a person, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import click
import typer

from neuraphage import __version__
from neuraphage.cli import admin_commands, stack_commands, task_commands
from neuraphage.cli.console import err, out
from neuraphage.errors import BadInput, NeuraphageError

app = typer.Typer(
    name="neuraphage",
    help="Run LLM agent tasks that survive any crash.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
stack_commands.register(app)
task_commands.register(app)
admin_commands.register(app)


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
    if sys.platform == "win32":
        sys.exit("neuraphage needs Linux or macOS; on Windows use WSL")
    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except click.Abort:
        code = 130
    except KeyboardInterrupt:
        code = 130
    except BadInput as error:
        err.print(f"neuraphage: {error}", markup=False)
        code = 2
    except NeuraphageError as error:
        err.print(f"neuraphage: {error}", markup=False)
        code = 1
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)

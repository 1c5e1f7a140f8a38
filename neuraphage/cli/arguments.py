"""Arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

TaskId = Annotated[str, typer.Argument(help="Task id, or a unique part of its beginning or end.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON with stable names, for programs.")]

"""Record `neuraphage demo` as the picture of the README: `python docs/record_demo.py` writes docs/demo.svg.

It is a real run with real kills; only the lines about processes that start and stop are left out.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import typer
from rich.text import Text

from neuraphage.cli import demo_command
from neuraphage.cli.console import PipedConsole

WIDTH = 100
PICTURE = Path(__file__).with_name("demo.svg")
LEFT_OUT = re.compile(r"^\S+ (starting|ready|stopping|stopped)")


class RecordingConsole(PipedConsole):
    """A terminal of a fixed width that remembers what it showed."""

    def __init__(self) -> None:
        super().__init__(
            record=True, width=WIDTH, force_terminal=True, color_system="truecolor", file=io.StringIO(),
            markup=False, emoji=False, highlight=False, soft_wrap=True,
        )  # fmt: skip

    def lines(self) -> list[Text]:
        """The lines of the run, without those about processes that come and go."""
        shown = Text.from_ansi(self.export_text(styles=True)).split("\n", allow_blank=True)
        return [line for line in shown if not LEFT_OUT.match(line.plain)]


def main() -> None:
    """Run the demo, and write the picture if it holds."""
    recorded = RecordingConsole()
    demo_command.out = recorded
    try:
        demo_command.demo()
    except typer.Exit as ended:
        if ended.exit_code:
            sys.exit(f"{recorded.export_text()}\nthe demo did not hold; no picture was written")
    picture = RecordingConsole()
    picture.print(Text("$ neuraphage demo", "bold"))
    for line in recorded.lines():
        picture.print(line)
    svg = picture.export_svg(title="neuraphage demo", unique_id="demo")
    # No font from another site: the reader's own monospace font will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    PICTURE.write_text(svg, encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")


if __name__ == "__main__":
    main()

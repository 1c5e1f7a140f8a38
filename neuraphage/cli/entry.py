"""Where `neuraphage` and `np` begin: what has to be set before the first import of weight."""

from __future__ import annotations

import gc

GC_THRESHOLD = 200_000
"""Objects between two looks for cycles. A command makes about 130,000 by its imports and gives none back; looking at
them again and again, and once more at the end, took a third of `list`. What runs long is looked at all the same."""


def main() -> None:
    """Run the command line; never returns."""
    gc.set_threshold(GC_THRESHOLD)
    from neuraphage.cli.main import main as run  # noqa: PLC0415 - the threshold has to be set before its imports

    try:
        run()
    finally:
        gc.freeze()  # the interpreter looks through everything as it ends, which gives back nothing to anybody

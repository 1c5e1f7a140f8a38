"""`celery -A workers.app worker|beat` finds this; all but the care for the current folder is `neuraphage/worker/`."""

import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

OWNER = "neuraphage"
"""By this line `neuraphage.celery_app` tells our package from another one of this common name."""


def _leave_current_folder() -> None:
    """Import nothing from the current folder, which Celery puts before all else while it loads an app.

    It takes the folder out again afterwards, and does not mind that it is gone. Where this package itself lies in the
    current folder, as in a checkout, there is nothing to be kept away. A folder whose path somebody has written into
    PYTHONPATH stays: tools of their own may be there.
    """
    with suppress(OSError):  # the current folder is gone
        here = str(Path.cwd())
        is_named = here in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if sys.path[:1] == [here] and not is_named and Path(here) != Path(__file__).resolve().parent.parent:
            del sys.path[0]


_leave_current_folder()


def __getattr__(name: str) -> Any:
    """The module of the app, loaded when Celery asks this package for it: then the current folder is out of the way."""
    if name != "app":
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.app")

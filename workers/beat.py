"""A beat that ticks can be seen: it touches a file beside its schedule each time it has sent something.

The schedule file itself tells nothing: whether a write reaches the disk, and so its age, before beat ends is up to the
kind of dbm that Python was built with.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from celery import signals

log = logging.getLogger(__name__)

SUFFIX = ".tick"
"""Of the file's name, behind that of the schedule (`beat -s`)."""


@signals.beat_init.connect
def show_ticks(sender: Any = None, **_: Any) -> None:
    """Beat starts: from now on every message it has sent touches the file."""
    path = Path(f"{sender.schedule_filename}{SUFFIX}")

    def touch(**_: Any) -> None:
        try:
            path.touch()
        except OSError as error:  # a full disk must not end beat; whoever looks at the file sees that it is old
            log.warning("%s cannot be touched: %s", path, error)

    signals.after_task_publish.connect(touch, weak=False)

"""Beat makes the folder of its schedule, and its ticks can be seen: each touches a file beside the schedule.

The schedule file itself tells nothing: whether a write reaches the disk, and so its age, before beat ends is up to the
kind of dbm that Python was built with.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from celery import signals
from celery.beat import PersistentScheduler

from neuraphage.configuration import load_or_exit
from neuraphage.data_folder import make_data_folder

log = logging.getLogger(__name__)

SUFFIX = ".tick"
"""Of the file's name, behind that of the schedule (`beat -s`)."""


class Scheduler(PersistentScheduler):  # type: ignore[misc]  # Celery carries no types
    """Celery's own, whose folder need not be there: a beat that starts before the first worker finds none."""

    def setup_schedule(self) -> None:
        """See Celery."""
        folder = Path(self.schedule_filename).absolute().parent
        try:
            make_data_folder(load_or_exit().data_dir)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            sys.exit(f"beat: make the folder {folder}: {error.strerror}; choose another place by -s")
        super().setup_schedule()


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

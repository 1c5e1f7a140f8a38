"""Beat's schedule is in its memory, and its ticks can be seen: each touches a file, by the name that `beat -s` gives.

Celery's own keeps its schedule in a file, which it reads with pickle: a `celerybeat-schedule` of the current folder,
perhaps of a cloned repository, could run anything. A sweep that comes once more after a start of beat harms nothing.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from celery import beat, signals

from neuraphage import own_secrets
from neuraphage.configuration import load_or_exit
from neuraphage.data_folder import make_data_folder, note_user
from neuraphage.private_files import private_folder

log = logging.getLogger(__name__)

SUFFIX = ".tick"
"""Of the file's name, behind that of the schedule (`beat -s`)."""


class Scheduler(beat.Scheduler):  # type: ignore[misc]  # Celery carries no types
    """Celery's own without a file; the folder of `beat -s` need not be there.

    Args:
        schedule_filename: beside it the ticks are shown.
    """

    def __init__(self, *args: Any, schedule_filename: str, **kwargs: Any) -> None:
        self._folder = Path(schedule_filename).absolute().parent
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """See Celery."""
        folder = self._folder
        try:
            data_dir = load_or_exit().data_dir
            make_data_folder(data_dir)
            note_user(data_dir)
            if not folder.is_dir():
                private_folder(folder)
        except OSError as error:
            sys.exit(f"beat: make the folder {folder}: {error.strerror}; choose another place by -s")
        super().setup_schedule()


@signals.beat_init.connect
def show_ticks(sender: Any = None, **_: Any) -> None:
    """At the start of beat: have every message that it sends from now on touch the file."""
    own_secrets.hide()
    own_secrets.forget_model_keys()
    path = Path(f"{sender.schedule_filename}{SUFFIX}")

    def touch(**_: Any) -> None:
        try:
            path.touch()
        except OSError as error:  # a full disk must not end beat; whoever looks at the file sees that it is old
            log.warning("%s cannot be touched: %s", path, error)

    signals.after_task_publish.connect(touch, weak=False)

"""On PYTHONPATH: the workers of a stack get the negative control in place of the spool."""

from __future__ import annotations

import sys

if any("celery" in word for word in sys.orig_argv):
    from neuraphage import wiring
    from neuraphage.testing.unspooled_commands import UnspooledCommands

    wiring.build_spool = lambda settings, redact: UnspooledCommands(settings.spool_max_bytes, redact=redact)
    wiring.spool_identity = lambda settings: ""

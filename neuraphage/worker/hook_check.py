"""Whether the hooks of a worker can be loaded, before it takes turns: without one of its guards it blocks them all."""

from __future__ import annotations

import subprocess
import sys

LIMIT_S = 60.0
_TOLD_CHARS = 1_000


def why_hooks_fail() -> str | None:
    """Why a worker cannot take turns with the hooks of its settings, or None.

    They are loaded by a process of its own: their modules may begin threads, which a later fork of this one breaks.
    """
    argv = (sys.executable, "-P", "-m", "neuraphage.cli", "hooks", "list", "--json")
    try:
        ran = subprocess.run(  # noqa: S603 - our own program, fixed arguments
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the hooks could not be loaded: {error}; see `neuraphage hooks list`"
    if ran.returncode == 0:
        return None
    said = ran.stderr.strip()[-_TOLD_CHARS:]
    return f"a hook could not be loaded, and without it nothing would run: {said}; see `neuraphage hooks list`"

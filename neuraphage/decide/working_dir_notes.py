"""What the model is told of its working directory when that goes, and when it comes back. Pure.

The notes stand in the conversation, so whether one is due is seen from what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LOST = "[working directory lost] "
BACK = "[working directory back] It can be used again. Look at what is in it before you go on: it may have changed."


def working_dir_note(entries: Sequence[Mapping[str, Any]], report: str | None) -> str | None:
    """The note that is due before the next request, or None.

    Args:
        entries: the stored conversation.
        report: what is wrong with the directory now; None when it can be used.
    """
    last = _last_note(entries)
    if report is None:
        return BACK if last is not None and last != BACK else None
    note = LOST + report
    return None if last == note else note


def _last_note(entries: Sequence[Mapping[str, Any]]) -> str | None:
    for entry in reversed(entries):
        if entry["role"] == "user":
            for block in reversed(entry["content"]):
                text = block.get("text")
                if isinstance(text, str) and (text.startswith(LOST) or text == BACK):
                    return text
    return None

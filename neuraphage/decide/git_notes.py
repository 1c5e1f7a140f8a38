"""What the model is told of git in its working directory. Pure.

The notes stand in the conversation, behind what was there before: so a state that changes alters no byte of an earlier
request, and whether a note is due is seen from what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.decide.shorten import printable
from neuraphage.model.compaction import Shortening
from neuraphage.model.git_state import GitState

GIT = "[git] "


def is_asked(entries: Sequence[Mapping[str, Any]], inputs: bool) -> bool:
    """Whether git is to be asked before the next request: before the first reply, and when a person has written.

    What it does meanwhile the model knows from its own calls, and each note stays in the conversation for good.

    Args:
        entries: the stored conversation.
        inputs: whether words of people are to be taken in.
    """
    return inputs or not any(entry["role"] == "assistant" for entry in entries)


def git_note(entries: Sequence[Mapping[str, Any]], state: GitState | None) -> str | None:
    """The note that is due before the next request; None where there is none, or it would say the same again.

    Args:
        entries: the stored conversation.
        state: of now; None without a repository, or without git.
    """
    if state is None:
        return None
    note = GIT + _told(state)
    return None if _last_note(entries) == note else note


def is_git_note(text: str) -> bool:
    """Whether a text of the user's role was said by us."""
    return text.startswith(GIT)


def _told(state: GitState) -> str:
    branch = f"branch {printable(state.branch)}" if state.branch else "no branch checked out"
    at = f"at {state.commit}" if state.commit else "without a commit yet"
    if state.changed is None or state.untracked is None:
        return f"{branch} {at}; what is changed was not known in time"
    counts = [f"{_files(state.changed)} changed"] if state.changed else []
    counts += [f"{state.untracked} untracked"] if state.untracked else []
    return f"{branch} {at}; {', '.join(counts) or 'clean'}{' and more' if state.more else ''}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _last_note(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """The last one that is still sent: a summary says nothing of it."""
    for entry in reversed(entries):
        point = entry.get("compaction")
        if point is not None and point["how"] == Shortening.SUMMARY:
            return None
        for block in entry["content"] if entry["role"] == "user" else ():
            text = block.get("text")
            if isinstance(text, str) and is_git_note(text):
                return text
    return None

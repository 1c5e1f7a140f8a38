"""What the scripts say to people. They stand in Lua as `SAY.<name>`, so that no script holds a sentence of its own.

A `%s` is filled in by the script. Each is stored with the decision or the failure that it explains, or is the error
with which a script refuses; refusals.py knows those by their first word, which is the server's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from neuraphage.model.dependency import SKIPPED

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "prelude": {"no_move": "no move from %s to %s"},
    "changes": {"no_move": "no move from %s under a lease"},
    "access": {
        "not_allowed": "NOPERM this user may not run %s on %s; nothing was begun",
        "misfit": "WRONGTYPE %s is a %s and should be a %s; nothing was begun",
    },
    "allowed": {"refused": "NOPERM this user may not run %s on %s (%s)"},
    "deliver": {
        "deadline": "Nobody had answered in time: the default answer of the prompt was given.",
    },
    "edges": {"skipped": SKIPPED + "%s is %s", "others": "other tasks"},
    "children": {"parent_over": "its parent %s is %s"},
    "fire": {
        "timer": "Its time had come: a worker may go on.",
        "poll": "It had been blocked for a while: a worker looks again.",
    },
    "republish": {
        "lost": "No message was left in the queue, and no worker had claimed it: its message was lost.",
        "unclaimed": "No worker had claimed it in time, so its message was sent again.",
    },
    "recover": {
        "first_visit": (
            "Two heartbeats were missed. A second visit decides, so that a server pause takes nobody's task."
        ),
        "not_due": "Two heartbeats were missed and it was seen before; the second visit is not due yet.",
        "broken": "The stored record cannot be read: its %s is broken. Nothing else of it was changed.",
        "cancelled": "A person had cancelled the task.",
        "no_conversation": "The stored conversation is gone, so the task cannot go on.",
        "too_old": (
            "The last saved step is older than the limit of saved_max_age_s, so the task is not resumed by itself."
        ),
        "stalls": (
            "Its lease ran out %s times without a new outcome, though its worker lived: it hangs or is frozen each time"
            " at %s."
        ),
        "crashes": "The task was recovered %s times without a new outcome: its worker dies each time at %s.",
        "pause": "A person had asked for a pause.",
        "policy": "recovery.policy is %s: a person decides.",
        "goes_on": "The task goes on from its marker.",
        "begins": "The task had not begun and starts over.",
    },
    "slot_checks": {
        "stray_line": "in the line of admission for what its record does not have",
        "no_slot": "its slot is not counted",
        "no_line": "waits for a slot in no line",
        "other_start": "its time to begin is another one in timers than in its record",
        "at_rest": "has a slot or stands in line, and is not to work",
    },
    "repair": {
        "record": "record",
        "conversation": "conversation",
        "journal": "journal",
        "inbox": "inbox",
        "history": "history",
        "signals": "list of signals",
        "decisions": "list of decisions",
        "misfit": "its %s has another type than it should",
        "stray_deadline": "a deadline of a prompt that is not open",
        "no_edge": "waits for %s, which does not know of it",
        "stray_edge": "in the index of edges for a task that it does not wait for",
        "stray_locks": "its record names locks that a task of its status has not, or cannot be read there",
        "no_lock": "its record names %s, which does not know of it",
        "stray_lock": "stands at %s without a reason",
        "no_such_task": "in %s, but there is no such task",
        "rests": "its record is gone; what is left of it is kept for as long as a conversation",
        "listed_nothing": "listed, but there is no such task",
        "not_in_ids": "not in the index of all ids",
        "unknown_status": "unknown status",
        "no_status": "record without a status",
        "unusable": "The stored record cannot be used: %s.",
        "no_conversation": "the conversation is gone",
        "no_journal": "the journal was damaged, so what its tools did is not known",
        "no_number": "its %s is no number",
        "no_marker": "no marker",
        "wrong_place": "%s sits in %s",
        "wrong_places": "%s sits in %s, must sit in exactly one",
        "no_place": "no place",
        "answer_gone": "the answer to an open prompt is gone",
        "no_deadline": "a prompt without its deadline",
        "no_prompt": "WaitingForUser without an open prompt",
        "waits_for_nothing": "waits although what it waits for is there",
        "stray_flag": "a pause or cancel flag, but no lease whose holder could see it",
        "in_retention": "%s but in retention",
        "would_expire": "%s, but %s (or its record) would expire",
        "still_placed": "%s but still in %s",
        "no_retention": "%s but in no retention, so its index entries would never go",
        "would_stay": "%s, but %s (or its record) would stay for ever",
        "not_listed": "%s is not listed under its status",
        "listed_elsewhere": "%s is listed under %s",
    },
}
"""By file and name."""
_USED = re.compile(r"\bSAY\.(\w+)")


def spelled_out(file: str, text: str) -> str:
    """The text of a file with its sentences in their places; a table of them would be made anew at each call.

    Raises:
        ValueError: the text uses a sentence that there is not.
    """
    sentences = SENTENCES.get(file, {})
    if unknown := set(_USED.findall(text)) - sentences.keys():
        raise ValueError(f"{file} has no sentence {', '.join(sorted(unknown))}")
    return _USED.sub(lambda found: _quoted(sentences[found[1]]), text)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

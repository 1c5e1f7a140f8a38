"""Signs that a task leads nowhere, and what is done about them."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class AnomalyKind(StrEnum):
    """What is watched. The limit of each is a count, unless it says otherwise."""

    SAME_CALL_FAILS = "same_call_fails"
    """Turns in which the same call failed, and nothing was changed in between."""
    SAME_CALL = "same_call"
    """Turns in which the same call came to the same, and nothing new was done in between."""
    FAILURES_IN_A_ROW = "failures_in_a_row"
    """Turns in a row whose calls failed."""
    NO_PROGRESS = "no_progress"
    """Seconds of calls and replies since a call brought something new. Time in which the task waits does not count."""
    TURN_TOKENS = "turn_tokens"
    """Tokens that one turn has cost, those that were read from the provider's cache left out."""
    WRITES_A_MINUTE = "writes_a_minute"
    """Writes of files that were begun within a minute."""
    UNUSUAL_PATH = "unusual_path"
    """Calls of one turn that worked on files outside of the task's directory."""
    REFUSED_HOST = "refused_host"
    """Hosts that commands of one turn were refused."""
    RUNAWAY_OUTPUT = "runaway_output"
    """Bytes that one command has put out."""


class OnAnomaly(StrEnum):
    """What is done at a limit."""

    OFF = "off"
    """Nothing: it is not looked for."""
    WARN = "warn"
    """It is in the history; the model is told of what it can change."""
    PAUSE = "pause"
    """Also, the task is paused: a message or a resume goes on with it."""
    FAIL = "fail"
    """Also, the task fails; a retry goes on with it."""


class AnomalyRule(Frozen):
    """What holds for one kind.

    Args:
        action: at the limit.
        limit: see the kind.
    """

    action: OnAnomaly
    limit: int


class Anomaly(Frozen):
    """A limit that was reached.

    Args:
        kind: what was seen.
        reading: what it has come to.
        limit: that it has reached.
        what: which call, path or host it is about, in short; empty for none.
    """

    kind: AnomalyKind
    reading: int
    limit: int
    what: str = ""


class AnomalyNote(Frozen):
    """Stored with the words that a conversation has about an anomaly.

    Args:
        kind: what they are about.
        acted: whether its limit was reached; from here on it is counted anew. Else the model was told beforehand.
    """

    kind: AnomalyKind
    acted: bool


DEFAULT_RULES: dict[AnomalyKind, AnomalyRule] = {
    AnomalyKind.SAME_CALL_FAILS: AnomalyRule(action=OnAnomaly.PAUSE, limit=5),
    AnomalyKind.SAME_CALL: AnomalyRule(action=OnAnomaly.WARN, limit=10),
    AnomalyKind.FAILURES_IN_A_ROW: AnomalyRule(action=OnAnomaly.PAUSE, limit=10),
    AnomalyKind.NO_PROGRESS: AnomalyRule(action=OnAnomaly.PAUSE, limit=600),
    AnomalyKind.TURN_TOKENS: AnomalyRule(action=OnAnomaly.WARN, limit=50_000),
    AnomalyKind.WRITES_A_MINUTE: AnomalyRule(action=OnAnomaly.WARN, limit=60),
    AnomalyKind.UNUSUAL_PATH: AnomalyRule(action=OnAnomaly.WARN, limit=1),
    AnomalyKind.REFUSED_HOST: AnomalyRule(action=OnAnomaly.WARN, limit=1),
    AnomalyKind.RUNAWAY_OUTPUT: AnomalyRule(action=OnAnomaly.WARN, limit=10_000_000),
}

"""How a turn can end that is not given back in its midst: a part of the union in actions.py."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.anomaly import Anomaly, AnomalyNote


@dataclass(frozen=True, slots=True)
class Remark:
    """Words to the model about an anomaly.

    Args:
        text: the words.
        note: what they are about; stored with them.
    """

    text: str
    note: AnomalyNote


@dataclass(frozen=True, slots=True)
class NextTurn:
    """End the turn and begin the next one.

    Args:
        say: words to the model, put into the conversation before.
        remarks: further ones, behind them.
        seen: anomalies, for the history.
    """

    say: str | None = None
    remarks: tuple[Remark, ...] = ()
    seen: tuple[Anomaly, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseFor:
    """Pause the task at the end of a turn, before the next one.

    Args:
        anomaly: why.
        remarks: words to the model, for when it goes on.
        seen: all anomalies, for the history.
    """

    anomaly: Anomaly
    remarks: tuple[Remark, ...] = ()
    seen: tuple[Anomaly, ...] = ()


@dataclass(frozen=True, slots=True)
class Complete:
    """End the task as completed.

    Args:
        summary: what the model said last.
        seen: anomalies, for the history.
    """

    summary: str
    seen: tuple[Anomaly, ...] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """End the task as failed.

    Args:
        error: why, for people.
        recoverable: whether a retry may help.
        reply: it failed because of its last reply, so that a retry asks for another one.
        remarks: words to the model, for a retry.
        seen: anomalies, for the history.
    """

    error: str
    recoverable: bool
    reply: bool = False
    remarks: tuple[Remark, ...] = ()
    seen: tuple[Anomaly, ...] = ()


@dataclass(frozen=True, slots=True)
class StopAtLimit:
    """End the task at a limit, unless somebody has raised it meanwhile."""

    error: str


@dataclass(frozen=True, slots=True)
class Rest:
    """End the turn: it is the person's turn to talk.

    Args:
        text: what the model said last.
        seen: anomalies, for the history.
    """

    text: str
    seen: tuple[Anomaly, ...] = ()

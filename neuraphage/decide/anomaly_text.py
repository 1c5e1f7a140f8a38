"""Anomalies in words: for the model, and for people. Pure."""

from __future__ import annotations

from neuraphage.decide.duration import duration
from neuraphage.model.anomaly import DEFAULT_RULES, Anomaly, AnomalyKind

_FIRST_WORDS = "[Runtime note]"
_PEOPLE: dict[AnomalyKind, str] = {
    AnomalyKind.SAME_CALL_FAILS: "The same call failed {reading} times, with nothing changed in between",
    AnomalyKind.SAME_CALL: "The same call came to the same {reading} times",
    AnomalyKind.FAILURES_IN_A_ROW: "The calls of {reading} turns in a row failed",
    AnomalyKind.NO_PROGRESS: "It has worked for {time} without a call that brought something new",
    AnomalyKind.TURN_TOKENS: "One turn has cost {reading:,} tokens",
    AnomalyKind.WRITES_A_MINUTE: "{reading} writes were begun within a minute",
    AnomalyKind.UNUSUAL_PATH: "It has worked on files outside of its directory",
    AnomalyKind.REFUSED_HOST: "Its commands were refused hosts",
    AnomalyKind.RUNAWAY_OUTPUT: "A command has put out {reading:,} bytes",
}
_ADVICE: dict[AnomalyKind, str] = {
    AnomalyKind.SAME_CALL_FAILS: "Doing it again will not help: find out why it fails, or go another way",
    AnomalyKind.SAME_CALL: "Doing it again brings nothing new: go on with the next step, or another way",
    AnomalyKind.FAILURES_IN_A_ROW: "Stop and look what they have in common before the next call",
    AnomalyKind.NO_PROGRESS: "Take a shorter way, or say what is in the way",
}
MEANINGS: dict[AnomalyKind, str] = {
    AnomalyKind.SAME_CALL_FAILS: "turns in which the same call failed, and nothing was changed in between",
    AnomalyKind.SAME_CALL: "turns in which the same call came to the same, and nothing new was done in between",
    AnomalyKind.FAILURES_IN_A_ROW: "turns in a row whose calls failed",
    AnomalyKind.NO_PROGRESS: "seconds of work since a call brought something new, over three turns at least",
    AnomalyKind.TURN_TOKENS: "tokens of one turn, without those that came from the provider's cache",
    AnomalyKind.WRITES_A_MINUTE: "writes of files begun within a minute",
    AnomalyKind.UNUSUAL_PATH: "files outside of the task's directory, of one turn's calls of file tools",
    AnomalyKind.REFUSED_HOST: "hosts that commands of one turn were refused",
    AnomalyKind.RUNAWAY_OUTPUT: "bytes that one command put out",
}
TOLD_TO_MODEL = frozenset(_ADVICE)
"""Kinds that the model can do something about."""


def told_to_people(anomaly: Anomaly) -> str:
    """A sentence without its full stop: what was seen, its limit, and what it is about."""
    said = _PEOPLE[anomaly.kind].format(reading=anomaly.reading, time=duration(anomaly.reading * 1000))
    about = f": {anomaly.what}" if anomaly.what else ""
    return f"{said} (limit {anomaly.limit:,}, {anomaly.kind.value}){about}"


def told_to_model(anomaly: Anomaly) -> str:
    """A note in the conversation."""
    said = _PEOPLE[anomaly.kind].format(reading=anomaly.reading, time=duration(anomaly.reading * 1000))
    advice = _ADVICE.get(anomaly.kind, "Go on only with what the task needs")
    about = f" ({anomaly.what})" if anomaly.what else ""
    return f"{_FIRST_WORDS} {said}{about}. {advice}. If the task cannot be done, call fail_task with the reason."


def is_note(text: str) -> bool:
    """Whether words of a conversation are such a note, and not a person's."""
    return text.startswith(_FIRST_WORDS)


def anomalies_markdown() -> str:
    """The table of kinds with their defaults, for docs/anomalies.md."""
    lines = ["| kind | seen | limit | by default |", "| --- | --- | --- | --- |"]
    for kind, rule in DEFAULT_RULES.items():
        lines.append(f"| `{kind.value}` | {MEANINGS[kind]} | {rule.limit:,} | {rule.action.value} |")
    return "\n".join(lines)

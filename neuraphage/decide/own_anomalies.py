"""What people say in settings about anomalies: `same_call_fails pause 5`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from neuraphage.errors import BadInput
from neuraphage.model.anomaly import DEFAULT_RULES, AnomalyKind, AnomalyRule, OnAnomaly

MOST = 10**12
FORM = f"write KIND ACTION [LIMIT]; kinds: {', '.join(AnomalyKind)}; actions: {', '.join(OnAnomaly)}"


def read_anomaly_rule(line: str) -> tuple[AnomalyKind, AnomalyRule]:
    """What holds for one kind; a limit that is not written is that of the default.

    Raises:
        BadInput: it is not of that form.
    """
    words = line.split()
    if len(words) not in (2, 3):
        raise BadInput(f"{line[:200]!r}: {FORM}")
    try:
        kind, action = AnomalyKind(words[0]), OnAnomaly(words[1])
    except ValueError as error:
        raise BadInput(f"{line[:200]!r}: {error}; {FORM}") from None
    limit = words[2] if len(words) > 2 else str(DEFAULT_RULES[kind].limit)
    if not (limit.isascii() and limit.isdigit()) or not 1 <= int(limit[:20]) <= MOST:
        raise BadInput(f"{line[:200]!r}: a limit is a number from 1 to {MOST}; {FORM}")
    return kind, AnomalyRule(action=action, limit=int(limit))


def anomaly_rules(lines: Iterable[str]) -> Mapping[AnomalyKind, AnomalyRule]:
    """What holds for each kind that is looked for.

    Args:
        lines: of the settings; of several about one kind the last one holds.
    """
    rules = DEFAULT_RULES | dict(map(read_anomaly_rule, lines))
    return {kind: rule for kind, rule in rules.items() if rule.action is not OnAnomaly.OFF}

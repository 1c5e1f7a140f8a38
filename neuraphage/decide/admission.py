"""Limits of tasks at work, as people write them. Pure."""

from __future__ import annotations

from neuraphage.decide.own_prices import read_label
from neuraphage.errors import BadInput
from neuraphage.model.admission import ALL_TASKS

MOST_SLOTS = 10**9


def read_label_slots(text: str) -> tuple[str, int]:
    """A label, as `repo=web` or `repo=*`, and how many tasks of it may be at work.

    Raises:
        BadInput: it is none.
    """
    label, _, amount = text.strip().rpartition(" ")
    label = label.strip()
    name, parted, value = label.partition("=")
    read_label(f"{name}=x" if parted and value == ALL_TASKS else label or text)
    if not (amount.isdecimal() and amount.isascii()) or not 1 <= int(amount) <= MOST_SLOTS:
        raise BadInput(f"{text[:200]!r}: write LABEL=VALUE NUMBER, as `repo=web 1` or `repo=* 1`")
    return label, int(amount)

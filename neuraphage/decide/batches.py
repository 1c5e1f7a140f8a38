"""A batch of tasks before it is made: its rows, their ids, and an order in which each comes after what it awaits."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import ValidationError

from neuraphage.errors import BadInput, CircularDependency
from neuraphage.model.batch import BatchRow

KEY_MAX_CHARS = 200


def read_rows(rows: Iterable[str | Mapping[str, Any] | BatchRow]) -> dict[str, BatchRow]:
    """Rows by their keys, in their order; a text is the prompt of one that says nothing else.

    Raises:
        BadInput: one of them is none, or two have one key; the message says which.
    """
    found: dict[str, BatchRow] = {}
    for number, given in enumerate(rows, start=1):
        row = _row(given, number)
        key = row.key or str(number)
        if len(key) > KEY_MAX_CHARS or "=" in key:
            raise BadInput(f"row {number}: the key {key[:40]!r} is longer than {KEY_MAX_CHARS}, or holds a `=`")
        if key in found:
            raise BadInput(f"row {number}: an earlier row has the key {key!r}; give each its own")
        found[key] = row
    return found


def _row(given: str | Mapping[str, Any] | BatchRow, number: int) -> BatchRow:
    if isinstance(given, BatchRow):
        return given
    try:
        return BatchRow.model_validate({"prompt": given} if isinstance(given, str) else given)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"row {number}: {'.'.join(map(str, first['loc'])) or 'row'}: {first['msg']}") from None


def row_id(namespace: str, batch: str, key: str) -> str:
    """The id of a row's task: always the same, so that a batch that was broken off is gone on with, however late."""
    digest = hashlib.sha256("\0".join((namespace, batch, key)).encode("utf-8", "replace")).digest()
    return f"task-{uuid.UUID(bytes=digest[:16], version=4)}"


def in_order(rows: Mapping[str, BatchRow]) -> Sequence[str]:
    """Keys in an order in which each row comes behind those of the batch that it waits for.

    Raises:
        CircularDependency: there is none; the message shows the circle.
    """
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for key, row in rows.items():
        sorter.add(key, *(name for name in map(awaited, row.after) if name in rows))
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        circle = " waits for ".join(reversed(error.args[1]))
        raise CircularDependency(f"none of these rows would ever begin: {circle}; take one `after` away") from None


def awaited(text: str) -> str:
    """The key or id of an `after`, without its rule."""
    return text.partition("=")[0]

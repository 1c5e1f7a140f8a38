"""Journal entries between values and the bytes of their hash field."""

from __future__ import annotations

import orjson
import pytest

from neuraphage.errors import CorruptRecord
from neuraphage.model.effect import MODEL_ENTRY, EffectClass, EffectState, JournalEntry, ModelEffect, ToolEffect
from neuraphage.store.encode import journal_bytes, journal_entry

MODEL = {"state": EffectState.COMPLETED, "response_hash": "h", "stop_reason": "end_turn"}
TOOL = {"state": EffectState.STARTED, "tool": "t", "effect_class": EffectClass.KEYED}
USUAL = [ModelEffect(**MODEL), ToolEffect(key="toolu_1", **TOOL)]
UNUSUAL = [ModelEffect(key="hook-1", **MODEL), ToolEffect(key=MODEL_ENTRY, **TOOL)]


@pytest.mark.parametrize("entry", USUAL + UNUSUAL, ids=lambda entry: f"{entry.kind}-{entry.key}")
def test_an_entry_is_read_back_as_it_was(entry: JournalEntry) -> None:
    """Also one whose kind its key does not tell: so there is room for further kinds of effects."""
    assert journal_entry(entry.key, journal_bytes(entry)) == entry


def test_the_kind_is_stored_where_the_key_does_not_tell_it() -> None:
    """And nowhere else, since every turn writes entries; the key is that of the field."""
    for entry in USUAL:
        assert not {"kind", "key"} & orjson.loads(journal_bytes(entry)).keys()
    for entry in UNUSUAL:
        stored = orjson.loads(journal_bytes(entry))
        assert (stored["kind"], "key" in stored) == (entry.kind.value, False)


def test_an_entry_of_a_kind_that_there_is_not_is_a_corrupt_record() -> None:
    """It is told by its key."""
    with pytest.raises(CorruptRecord, match="journal entry 'x'"):
        journal_entry("x", b'{"kind":"dream","state":"completed"}')

"""Conversation entries between values and bytes."""

from __future__ import annotations

import zlib

import orjson
import pytest

from neuraphage.errors import CorruptRecord, SchemaTooNew
from neuraphage.model.message import Entry
from neuraphage.store import encode


def entry(text: str) -> Entry:
    return Entry(role="user", content=[{"type": "text", "text": text}], turn=3)


def test_a_long_entry_is_stored_compressed_and_read_back_the_same() -> None:
    """Above a kilobyte the bytes shrink and nothing is lost."""
    long = entry("neuraphage " * 200)
    raw = encode.entry_bytes(long)
    assert len(raw) < encode.COMPRESS_ABOVE_BYTES / 2
    assert encode.stored_entry(raw)["content"] == long.content


def test_a_short_entry_stays_json_that_a_person_can_read() -> None:
    """Ordinary entries are plain JSON."""
    assert orjson.loads(encode.entry_bytes(entry("hello")))["content"][0]["text"] == "hello"


@pytest.mark.parametrize("raw", [b"\x78\x9cgarbage", b"{broken", b""])
def test_broken_bytes_are_a_corrupt_record(raw: bytes) -> None:
    """Neither a broken stream nor broken JSON gets further than the store."""
    with pytest.raises(CorruptRecord):
        encode.stored_entry(raw)


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that unpack to more than the limit are refused without unpacking them all."""
    monkeypatch.setattr(encode, "ENTRY_MAX_BYTES", 1_000)
    with pytest.raises(CorruptRecord, match="more than 1000 bytes"):
        encode.stored_entry(zlib.compress(b"{" + b" " * 100_000))


def test_a_newer_entry_is_refused_by_name() -> None:
    """An entry of a later release says so instead of being misread."""
    with pytest.raises(SchemaTooNew, match="upgrade"):
        encode.stored_entry(b'{"role":"user","content":[],"turn":0,"v":99}')

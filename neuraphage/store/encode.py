"""Between values and what is stored. orjson on the hot path: no model is validated twice."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from neuraphage.errors import SchemaTooNew
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.effect import MODEL_ENTRY, EffectKind, JournalEntry, Marker
from neuraphage.model.money import label_texts
from neuraphage.model.prompt import InboxItem
from neuraphage.model.subtask import ChildChange
from neuraphage.model.task import TaskSpec
from neuraphage.store.bindings import CHANGE_GROUPS
from neuraphage.store.client import corrupt

if TYPE_CHECKING:
    from neuraphage.model.message import Entry
    from neuraphage.model.model_choice import ModelChoice
    from neuraphage.ports import Changes, ChildChanges, ModelChange

COMPRESS_ABOVE_BYTES = 1_024
"""Text shrinks by half in a few microseconds a kilobyte, and each of these bytes is synced to disk."""
_JOURNAL_ENTRY: TypeAdapter[JournalEntry] = TypeAdapter(JournalEntry)
_TALK_OF_SCHEMA_1 = b":conversation"
"""End of the ids of prompts that waited for a person's next words."""
ENTRY_MAX_BYTES = 64 * 1024 * 1024
"""Largest entry that is unpacked; far above every limit on writing."""


def dumps(value: object) -> bytes:
    """JSON bytes of a plain value."""
    return orjson.dumps(value)


def loads(raw: bytes | str, what: str) -> Any:
    """Plain value of stored JSON.

    Raises:
        CorruptRecord: it is not JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise corrupt(what, error) from None


def compact(model: BaseModel, exclude: str = "", also: str = "") -> bytes:
    """JSON of a flat model without the fields that stand at their defaults.

    Args:
        model: the model.
        exclude: a field to leave out whatever it holds.
        also: a field to keep at its default too.
    """
    defaults = _defaults(type(model))
    values = model.__dict__.items()
    return orjson.dumps({k: v for k, v in values if (v != defaults[k] or k == also) and k != exclude})


@cache
def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    """Default of every field; a required one has a default that no value equals."""
    return {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}


def spec_bytes(spec: TaskSpec) -> bytes:
    """JSON of a spec without what is empty by default; other defaults stay, for a later release may change them."""
    defaults = _defaults(TaskSpec)
    plain = spec.model_dump(mode="json", exclude_none=True)
    return orjson.dumps({name: value for name, value in plain.items() if value not in ("", [], {}) or defaults[name]})


def first_entry(prompt: str) -> Entry:
    """How the conversation of a task begins that is given nothing but words."""
    from neuraphage.model.message import Entry  # noqa: PLC0415 - what lists tasks needs none

    return Entry(role="user", content=[{"type": "text", "text": prompt}])


def entry_bytes(entry: Entry) -> bytes:
    """One stored conversation entry."""
    return packed(entry_json(entry))


def packed(raw: bytes) -> bytes:
    """JSON as it is stored: compressed above COMPRESS_ABOVE_BYTES. A zlib stream never begins with a brace."""
    return raw if len(raw) <= COMPRESS_ABOVE_BYTES else zlib.compress(raw, level=1)


_WITHOUT_DEFAULTS = frozenset({"cache", "file"})


def entry_json(entry: Entry) -> bytes:
    """JSON of a conversation entry: `{"role","content","turn","v"}`, and the others where set."""
    plain: dict[str, Any] = {
        "role": entry.role,
        "content": entry.content,
        "turn": entry.turn,
        "v": entry.schema_version,
    }
    if entry.stop_reason is not None:
        plain["stop_reason"] = entry.stop_reason
    if entry.unusable_calls:
        plain["unusable_calls"] = entry.unusable_calls
    if entry.supersedes is not None:
        plain["supersedes"] = entry.supersedes
    if entry.tokens:
        plain["tokens"] = entry.tokens
    if entry.total_ms:
        plain["total_ms"] = entry.total_ms
    if entry.first_token_ms or (entry.total_ms and entry.role == "assistant"):
        plain["first_token_ms"] = entry.first_token_ms
    if entry.said:
        plain["said"] = True
    if entry.began is not None:
        plain["began"] = entry.began
    parts = {"compaction": entry.compaction, "cache": entry.cache, "file": entry.file, "anomaly": entry.anomaly}
    for name, part in parts.items():
        if part is not None:
            plain[name] = part.model_dump(mode="json", exclude_defaults=name in _WITHOUT_DEFAULTS)
    if entry.media:
        plain["media"] = entry.media
    return orjson.dumps(plain)


def stored_entry(raw: bytes) -> dict[str, Any]:
    """One conversation entry as stored.

    Raises:
        SchemaTooNew: a newer release wrote it.
        CorruptRecord: it cannot be read.
    """
    what = "conversation entry"
    if not raw.startswith(b"{"):
        unpack = zlib.decompressobj()
        try:
            raw = unpack.decompress(raw, ENTRY_MAX_BYTES)
        except zlib.error as error:
            raise corrupt(what, error) from None
        if unpack.unconsumed_tail:
            raise corrupt(what, f"it unpacks to more than {ENTRY_MAX_BYTES} bytes")
    entry: dict[str, Any] = loads(raw, what)
    if entry.get("v", 1) > SCHEMA_VERSION:
        raise SchemaTooNew(f"{what} has schema {entry['v']}, this release reads up to {SCHEMA_VERSION}; upgrade it")
    return entry


def inbox_bytes(item: InboxItem) -> bytes:
    """One inbox value: `<a|i><prompt id>`, a line break, JSON (see `sent` in prelude.lua)."""
    head = "a" + (item.prompt_id or "") if item.kind == "answer" else "i"
    return head.encode() + b"\n" + compact(item)


def inbox_item(raw: bytes) -> InboxItem:
    """The item of one inbox value: what its head calls words to the model is that, also where it came as an answer."""
    head, _, body = raw.partition(b"\n")
    is_words = head == b"i" or head.endswith(_TALK_OF_SCHEMA_1)
    try:
        item = InboxItem.model_validate_json(body)
        return item.model_copy(update={"kind": "input"}) if is_words else item
    except ValidationError as error:
        raise corrupt("inbox item", error) from None


def journal_bytes(entry: JournalEntry) -> bytes:
    """One journal entry as its hash field holds it: without its key, and without a kind that the key tells."""
    return compact(entry, exclude="key", also="" if entry.kind is _usual_kind(entry.key) else "kind")


def _usual_kind(key: str) -> EffectKind:
    return EffectKind.MODEL if key == MODEL_ENTRY else EffectKind.TOOL


def journal_entry(key: str, raw: bytes) -> JournalEntry:
    """One journal entry from its hash field."""
    try:
        return _JOURNAL_ENTRY.validate_python(
            {"kind": _usual_kind(key), **loads(raw, f"journal entry {key!r}"), "key": key}
        )
    except ValidationError as error:
        raise corrupt(f"journal entry {key!r}", error) from None


def marker_bytes(marker: Marker | None) -> bytes:
    """Stored marker; empty for none."""
    return compact(marker) if marker is not None else b""


def choice_bytes(choice: ModelChoice | None) -> bytes:
    """Stored models of a task; empty where its spec alone has them."""
    return b"" if choice is None else compact(choice)


def model_event(choice: ModelChoice, told: Mapping[str, Any]) -> bytes:
    """What the history says of a change of the model."""
    return dumps({"model": choice.model, **({"tier": choice.tier} if choice.tier else {}), **told})


def _model_change(change: ModelChange) -> tuple[bytes, bytes, bytes]:
    return choice_bytes(change.before), choice_bytes(change.after), model_event(change.after, change.told)


def _child_rows(children: ChildChanges) -> Iterator[tuple[Any, ...]]:
    """What spawning.lua reads, in the order in which it is to be done."""
    for task_id in children.taken:
        yield ChildChange.TAKEN.value, task_id, "", "", ""
    for spec, wait in children.new:
        made = {
            "name": spec.name,
            "labels": "\n".join(label_texts(spec.labels)),
            "priority": spec.priority,
            **spec.limits.model_dump(exclude_none=True),
            "wait": wait.value,
            "on_parent_end": spec.on_parent_end,
        }
        whole = {name: value for name, value in made.items() if value is not None}
        yield ChildChange.NEW.value, spec.task_id, dumps(whole), spec_bytes(spec), entry_bytes(first_entry(spec.prompt))
    for task_id, wait in children.awaited:
        yield ChildChange.WAIT.value, task_id, wait.value, "", ""


def change_groups(changes: Changes, entries: Iterable[bytes]) -> list[Any]:
    """What a write of a turn changes, as the scripts read it: for each group of CHANGE_GROUPS a count and its items.

    Args:
        changes: what is written.
        entries: its entries as JSON.
    """
    rows: dict[str, Collection[Iterable[Any]]] = {
        "entries": [(packed(raw),) for raw in entries],
        "journal": [(entry.key, journal_bytes(entry)) for entry in changes.journal],
        "add": [row for row in changes.add.items() if row[1]],
        "consumed": [(raw,) for raw in changes.consumed],
        "opened": [(p.prompt_id, compact(p), p.deadline_ms or 0) for p in changes.prompts_opened],
        "closed": [(prompt_id,) for prompt_id in changes.prompts_closed],
        "grants": changes.grants.items(),
        "events": [(event.kind, dumps(event.data)) for event in changes.events],
        "model": () if changes.model is None else (_model_change(changes.model),),
        "spent": [
            (model, name, amount) for model, add in changes.spent.items() for name, amount in add.items() if amount
        ],
        "children": tuple(_child_rows(changes.children)),
    }
    flat: list[Any] = []
    for name in CHANGE_GROUPS:
        items = rows[name]
        flat.append(len(items))
        for item in items:
            flat += item
    return flat


def text_map(flat: list[bytes]) -> dict[str, bytes]:
    """HGETALL's flat reply as a dict."""
    return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}


def plain_text(values: Mapping[str, bytes], name: str, default: str = "") -> str:
    """A text field of a hash; `default` where the hash has no such field."""
    raw = values.get(name)
    return default if raw is None else raw.decode()

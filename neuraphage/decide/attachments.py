"""Images and documents of a conversation: checked, stored once, referred to, and sent. Pure.

A block of a stored entry refers to its bytes by their digest. The bytes lie in the field `media` of the first entry
that needed them, as base64; whoever reads a conversation for people is not given that field.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuraphage.decide.media_kinds import PDF, media_kind
from neuraphage.decide.model_ids import Provider, split_model
from neuraphage.decide.shorten import printable
from neuraphage.errors import BadInput
from neuraphage.model.attachment import Attachment

if TYPE_CHECKING:
    from neuraphage.model.message import Block
    from neuraphage.model.model_facts import ModelFacts

STORED = "stored"
"""Type of a source that refers to bytes of the conversation."""
DIGEST_CHARS = 12
"""Of a digest, in what people and models are shown."""
MOST_PIXELS = 8_000
"""The provider refuses an image that is wider or higher."""
NAME_CHARS = 100
TAKEN = "png, jpeg, gif, webp and pdf"

Entries = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class AttachmentLimits:
    """What one task may hold; 0 bytes of each take none.

    Args:
        each_bytes: of one.
        count: how many.
        total_bytes: of all together.
    """

    each_bytes: int
    count: int
    total_bytes: int


def limits_of(settings: Any) -> AttachmentLimits:
    """The limits by the settings of this process (`ContextSettings`)."""
    return AttachmentLimits(
        settings.attachment_max_bytes, settings.attachments_max, settings.attachments_total_max_bytes
    )


def takes_images(setting: str, model: str, facts: ModelFacts) -> bool:
    """Whether a model gets images and documents.

    Args:
        setting: `images`.
        model: its id. One of Anthropic takes them, also where nobody has told of it; another server's may not.
        facts: of it.
    """
    if setting != "auto":
        return setting == "on"
    return facts.vision or (not facts.known and split_model(model).provider is not Provider.OPENAI)


def attachment_of(data: bytes, name: str = "") -> Attachment:
    """An attachment of some bytes.

    Args:
        data: of an image or a document.
        name: what it is called; its end says nothing.

    Raises:
        BadInput: they are none that a model takes.
    """
    shown = printable(name)[-NAME_CHARS:]
    what = f"{shown}: " if shown else ""
    kind = media_kind(data)
    if kind is None:
        raise BadInput(
            f"{what}by its first bytes ({data[:8].hex(' ') or 'none'}) it is no image and no document that models take;"
            f" {TAKEN} are. Give a text file as text, or put it into the working directory"
        )
    if max(kind.width, kind.height) > MOST_PIXELS:
        raise BadInput(
            f"{what}it has {kind.width} x {kind.height} pixels; the provider takes {MOST_PIXELS:,} a side: scale it"
            " down"
        )
    return Attachment(
        media_type=kind.media_type,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        tokens=kind.tokens,
        name=shown,
        data=base64.b64encode(data).decode("ascii"),
    )


def checked(one: Attachment) -> Attachment:
    """The same by what its bytes are, whatever code of others says of them.

    Raises:
        BadInput: they are none, or none that a model takes.
    """
    if not one.data:
        return one
    try:
        return attachment_of(base64.b64decode(one.data, validate=True), one.name)
    except ValueError:
        raise BadInput(f"{one.name or 'an attachment'}: its data is no base64") from None


def refuse_over(limits: AttachmentLimits, given: Sequence[Attachment], held: Iterable[tuple[str, int]] = ()) -> None:
    """Refuse what is over a limit.

    Args:
        limits: of the task.
        given: what it is to be given.
        held: digests and bytes of what it has already; the same one counts once.

    Raises:
        BadInput: it is over; the message names the setting.
    """
    sizes = dict(held)
    for one in given:
        if one.size_bytes > limits.each_bytes:
            raise BadInput(
                f"{label(one)} is over attachment_max_bytes ({limits.each_bytes:,} bytes); make it smaller, or raise"
                " the setting as far as the provider takes it"
            )
        sizes[one.sha256] = one.size_bytes
    if len(sizes) > limits.count:
        raise BadInput(f"the task would have {len(sizes)} images and documents; attachments_max is {limits.count}")
    if sum(sizes.values()) > limits.total_bytes:
        raise BadInput(
            f"the images and documents of the task would have {sum(sizes.values()):,} bytes;"
            f" attachments_total_max_bytes is {limits.total_bytes:,}"
        )


def label(one: Attachment | Mapping[str, Any]) -> str:
    """What people and models are shown in its place: `[image/png 34 kB sha256:0123456789ab]`.

    Args:
        one: an attachment, or a block that refers to one (of any source).
    """
    if isinstance(one, Attachment):
        return _label(one.media_type, one.size_bytes, one.sha256, one.name)
    source = one.get("source") or {}
    if source.get("type") != STORED:
        return f"[{one.get('type')}]"
    return _label(source["media_type"], source["size_bytes"], source["sha256"], source.get("name", ""))


def _label(media_type: str, size_bytes: int, sha256: str, name: str) -> str:
    size = f"{size_bytes} B" if size_bytes < 1_000 else f"{round(size_bytes / 1_000):,} kB"
    return f"[{media_type} {size} sha256:{sha256[:DIGEST_CHARS]}{' ' if name else ''}{name}]"


def reference(one: Attachment) -> Block:
    """The block of a stored entry that refers to it."""
    source = one.model_dump(include={"media_type", "sha256", "size_bytes", "tokens"})
    if one.name:
        source["name"] = one.name
    return {"type": "document" if one.media_type == PDF else "image", "source": {"type": STORED, **source}}


def is_media(block: Mapping[str, Any]) -> bool:
    """Whether a block is an image or a document."""
    return block.get("type") in ("image", "document")


def media_to_store(given: Iterable[Attachment], entries: Entries) -> dict[str, str]:
    """Digests and data of what no entry holds yet: each is stored once."""
    new = [one for one in given if one.data]
    there = held(entries) if new else {}
    return {one.sha256: one.data for one in new if one.sha256 not in there}


def held(entries: Entries) -> dict[str, str]:
    """Digests and data (base64) of all that a conversation holds."""
    return {digest: data for entry in entries if entry.get("media") for digest, data in entry["media"].items()}


def held_sizes(entries: Entries) -> list[tuple[str, int]]:
    """Digests and bytes of all that it refers to; also of a conversation as people read it."""
    found = (one["source"] for entry in entries for block in entry["content"] for one in _media_in(block))
    return [(source["sha256"], source["size_bytes"]) for source in found]


def found_in(entries: Entries, wanted: str) -> tuple[Attachment, ...]:
    """Attachments of one result, or the one of a digest, as they are referred to.

    Args:
        entries: the stored conversation.
        wanted: id of a call, or `sha256:` and the beginning of a digest.
    """
    digest = wanted.removeprefix("sha256:") if wanted.startswith("sha256:") else None
    found: dict[str, Attachment] = {}
    for entry in entries:
        for block in entry["content"] if entry["role"] == "user" else ():
            is_result = block.get("type") == "tool_result"
            if digest is None and not (is_result and block["tool_use_id"] == wanted):
                continue
            for one in _media_in(block):
                fields = {name: value for name, value in one["source"].items() if name != "type"}
                if digest is None or (len(digest) >= DIGEST_CHARS and fields["sha256"].startswith(digest)):
                    found[fields["sha256"]] = Attachment(**fields)
    return tuple(found.values())


def _media_in(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = block.get("content")
    inner = content if block.get("type") == "tool_result" and isinstance(content, list) else [block]
    yield from (one for one in inner if is_media(one) and one["source"].get("type") == STORED)


def left_out(block: Block) -> Block:
    """An old block as it is sent: an image or document as one line, which says how to see it again."""
    if is_media(block) and block["source"].get("type") == STORED:
        digest = block["source"]["sha256"][:DIGEST_CHARS]
        note = f'An old one, left out to save room. To see it again: read_result with tool_use_id "sha256:{digest}".'
        return {"type": "text", "text": f"{label(block)} [{note}]"}
    content = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(content, list) or not any(map(is_media, content)):
        return block
    return {**block, "content": [left_out(inner) for inner in content]}


def with_media(
    messages: Sequence[dict[str, Any]], data: Mapping[str, str], *, sees: bool, plain: bool = False
) -> list[dict[str, Any]]:
    """Messages with the bytes of what they refer to.

    What is referred to twice is sent where it comes first, and the other time is told of: so a request holds no more
    than its task, and begins with the bytes of the one before.

    Args:
        messages: as assembled; left as they are.
        data: what its conversation holds, see `held`.
        sees: whether the model takes images and documents; else a line of text stands for each.
        plain: likewise, since the provider has refused the request with them; see `sendable`.
    """
    if not data:
        return list(messages)
    hidden = "" if sees else "this model takes no images and no documents: you cannot see it"
    sending = _Sending(data, "the provider has refused the request with it: you cannot see it" if plain else hidden)
    return [
        {**message, "content": [sending.block(block) for block in message["content"]]}
        if message["role"] == "user"
        else message
        for message in messages
    ]


class _Sending:
    """One request that is filled with data, block after block."""

    def __init__(self, data: Mapping[str, str], hidden: str) -> None:
        self._data = data
        self._hidden = hidden
        self._sent: set[str] = set()

    def block(self, block: Block) -> Block:
        content = block.get("content")
        if block.get("type") == "tool_result" and isinstance(content, list):
            return {**block, "content": [self.block(inner) for inner in content]}
        source = block.get("source") or {}
        if not is_media(block) or source.get("type") != STORED:
            return block
        if self._hidden:
            return _said(block, self._hidden)
        digest = source["sha256"]
        if digest not in self._data:
            return _said(block, "its bytes are not stored any more")
        if digest in self._sent:
            return _said(block, "the same is shown further above")
        self._sent.add(digest)
        sent = {"type": "base64", "media_type": source["media_type"], "data": self._data[digest]}
        named = {"title": source["name"]} if block["type"] == "document" and source.get("name") else {}
        return {"type": block["type"], "source": sent, **named}


def _said(block: Block, why: str) -> Block:
    return {"type": "text", "text": f"{label(block)} [{why}]"}

"""Images and documents of a conversation."""

from __future__ import annotations

from neuraphage.model.base import Frozen


class Attachment(Frozen):
    """One image or document. Made by `decide.attachments.attachment_of`, which looks at its bytes.

    Args:
        media_type: by its first bytes, whatever it is called.
        sha256: of its bytes; names it, as `sha256:` and the first digits.
        size_bytes: its bytes.
        tokens: about what a model counts it as.
        name: what it is called; empty where it has no name.
        data: its bytes as base64; empty where the conversation holds them already.
    """

    media_type: str
    sha256: str
    size_bytes: int
    tokens: int
    name: str = ""
    data: str = ""

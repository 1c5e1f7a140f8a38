"""What some bytes are, by themselves: images and documents that models take, with their sizes. Pure.

Only headers are read, and nothing is decoded: a damaged file is for the provider to refuse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PDF = "application/pdf"
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PIXELS_A_TOKEN = 750
"""By the provider's rule: width times height in pixels over 750."""
MOST_IMAGE_TOKENS = 4_784
"""A larger image is scaled down before it is counted: to 1568 pixels and 1600 tokens by most models, by the newest to
this.
"""
PAGE_TOKENS = 3_000
"""Of a page of a document, the provider says, 1500 to 3000 of text; and each page is an image, too."""
BYTES_A_PAGE = 50_000
"""Where a document does not say how many pages it has."""

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,5})\b")
_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG that hold its size."""


@dataclass(frozen=True, slots=True)
class MediaKind:
    """What some bytes are.

    Args:
        media_type: as HTTP names it.
        width, height: of an image, in pixels; 0 where they could not be read.
        pages: of a document, about.
    """

    media_type: str
    width: int = 0
    height: int = 0
    pages: int = 0

    @property
    def is_image(self) -> bool:
        """Whether it is one; else it is a document."""
        return self.media_type in IMAGES

    @property
    def tokens(self) -> int:
        """About what a model counts it as; rather too many than too few."""
        if not self.is_image:
            return self.pages * (PAGE_TOKENS + MOST_IMAGE_TOKENS // 2)
        exact = -(-self.width * self.height // PIXELS_A_TOKEN)
        return min(exact or MOST_IMAGE_TOKENS, MOST_IMAGE_TOKENS)


def media_kind(data: bytes) -> MediaKind | None:
    """What the bytes are; None for what no model takes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return MediaKind("image/png", _int(data[16:20], "big"), _int(data[20:24], "big"))
    if data.startswith(b"\xff\xd8\xff"):
        return MediaKind("image/jpeg", *_jpeg_size(data))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return MediaKind("image/gif", _int(data[6:8], "little"), _int(data[8:10], "little"))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return MediaKind("image/webp", *_webp_size(data))
    if data.startswith(b"%PDF-"):
        counts = [len(_PAGE.findall(data)), *map(int, _COUNT.findall(data))]
        return MediaKind(PDF, pages=max(counts) or 1 + len(data) // BYTES_A_PAGE)
    return None


def _int(field: bytes, order: str) -> int:
    return int.from_bytes(field, "big" if order == "big" else "little")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
        elif marker in _SIZES:
            return _int(data[at + 7 : at + 9], "big"), _int(data[at + 5 : at + 7], "big")
        else:
            at += 2 + max(2, _int(data[at + 2 : at + 4], "big"))
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return 1 + _int(data[24:27], "little"), 1 + _int(data[27:30], "little")
        case b"VP8L":
            bits = _int(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return _int(data[26:28], "little") & 0x3FFF, _int(data[28:30], "little") & 0x3FFF
    return 0, 0

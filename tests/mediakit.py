"""Images and documents of a few bytes, made by hand."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 2, height: int = 3, seed: int = 0) -> bytes:
    """A whole PNG of one colour."""
    rows = b"".join(b"\0" + bytes([seed % 256]) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )


def jpeg(width: int, height: int) -> bytes:
    """The beginning of a JPEG: a segment that is skipped, filling, and the size."""
    size = struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 6) + b"JFIF" + b"\xff\xff\xc2" + size


def gif(width: int, height: int) -> bytes:
    """The beginning of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 8


def webp(width: int, height: int, form: bytes = b"VP8X") -> bytes:
    """The beginning of a WebP, in one of its three forms."""
    if form == b"VP8X":
        body = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif form == b"VP8L":
        body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
    else:
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + b"\0" * 4 + b"WEBP" + form + struct.pack("<I", len(body)) + body + b"\0" * 8


def pdf(pages: int = 1) -> bytes:
    """A document by its words."""
    kids = b"\n".join(b"<< /Type /Page >>" for _ in range(pages))
    return b"%PDF-1.4\n<< /Type /Pages /Count " + str(pages).encode() + b" >>\n" + kids

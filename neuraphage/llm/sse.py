"""The data of server-sent events, as the HTML standard parses them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def data_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The data of each event that has some; an event that the end of the stream cuts is given, too.

    Args:
        pieces: bytes of the stream, each behind a line's end but for the last.

    Raises:
        UnicodeDecodeError: a line is not UTF-8.
    """
    data: list[str] = []
    for piece in pieces:
        for line in piece.splitlines():
            if line:
                name, _, value = line.decode("utf-8").partition(":")
                if name == "data":
                    data.append(value.removeprefix(" "))
            elif data:
                yield "\n".join(data)
                data = []
    if data:  # servers forget the blank line behind the last event
        yield "\n".join(data)

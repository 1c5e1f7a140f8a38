"""Which hosts a command line names in its words, as far as these tell. Pure.

A program may make a host of anything, and what it does inside is not seen: where commands have a sandbox, the proxy is
what keeps them from a host. This says it before they run, and where there is no sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

from neuraphage.decide.allowed_hosts import AllowedHost, address_of, read_authority, read_denied_host, read_host
from neuraphage.model.shell import Redirect, SimpleCommand

_URL = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?/{2,}([^/\\?#\s'\"<>|;&()]+)")
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/(\d{1,5})")
_SCHEME_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ssh": 22, "git+ssh": 22, "git": 9418, "ftp": 21}
_SEARCHES = frozenset({"ack", "ag", "egrep", "fgrep", "grep", "rg"})
"""Programs whose words are texts to look for, and which reach no network."""
_LONGEST = 4_096

Named = tuple[str, int | None]
"""A host as `read_host` gives it, and the port that was named with it."""


def named_hosts(commands: Iterable[SimpleCommand], redirects: Iterable[Redirect]) -> frozenset[Named]:
    """Hosts that commands and redirects name."""
    words = [word for one in commands if one.name not in _SEARCHES for word in one.words[1:]]
    texts = [text for word in (*words, *(one.target for one in redirects)) for text in word.texts]
    return frozenset(named for text in texts for named in _named_in(text))


def hosts_in_text(text: str) -> frozenset[Named]:
    """The same of a line that cannot be read: each of its parts between blanks and quotes counts as a word."""
    return frozenset(named for word in re.split(r"[\s'\"`();|&<>]+", text) for named in _named_in(word))


def is_one_of(named: Named, pattern: str) -> bool:
    """Whether a host is one of those of an entry of `blocked_hosts`; without a port any of its ports may be meant."""
    entry, (host, port) = _entry(pattern), named
    return entry.names(host) and (not entry.ports or port is None or port in entry.ports)


@lru_cache(maxsize=2_048)
def _entry(pattern: str) -> AllowedHost:
    return read_denied_host(pattern)


def _named_in(word: str) -> Iterator[Named]:
    """Hosts of one word, in the forms of URLs, of git and ssh (`git@host:path`), and bare with a path or a port.

    Of a text with blanks the first part alone counts: what stands behind it is prose, or the lines of a program.
    """
    first = word[:_LONGEST].split(maxsplit=1)
    if not first:
        return
    text = first[0]
    device = _DEVICE.search(text)
    if device is not None:
        yield from _read(device[1], int(device[2]))
    for scheme, authority in _URL.findall(text):
        yield from _read(unquote(authority).rpartition("@")[2], _SCHEME_PORTS.get(scheme.lower()))
    for part in re.split(r"[=,]", _URL.sub(" ", text)):
        yield from _read(part.partition("/")[0].rpartition("@")[2], None)


def _read(text: str, usual_port: int | None) -> Iterator[Named]:
    """A host with its port, or one before a colon and whatever is no port (`host:path`, `host:443:address`)."""
    place = read_authority(text, usual_port)
    host = place[0] if place is not None else read_host(text.partition(":")[0]) or _version_6(text)
    if host is not None:
        yield host, place[1] if place is not None else usual_port


def _version_6(text: str) -> str | None:
    address = address_of(text)
    return None if address is None else str(address)

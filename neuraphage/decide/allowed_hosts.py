"""Which hosts commands in a sandbox may reach: how the setting is written, and what it allows. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from neuraphage.errors import BadInput

USUAL_PORTS = (80, 443)
"""Those of an entry that names none."""
FORM = "write a host (`pypi.org`), all below one (`*.pythonhosted.org`), an address (`10.0.0.5`, `[fd00::5]`), each"
FORM += " with a port or without (`git.example.org:8443`)"
_MOST_CHARS = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]{1,5}))?")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_METADATA = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"))
)
"""Where clouds tell a machine its keys; the last one is a public address."""
_RESERVED = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "100.64.0.0/10", "fec0::/10")))
"""Networks that releases of Python take for global ones, or some of them (clouds have services in the first)."""
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses of version 4 in the last four bytes, as networks of version 6 alone have them (RFC 6052)."""


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """An entry of the setting.

    Args:
        host: a name in small letters, or an address as `ipaddress` writes it.
        is_below: every name below the host is meant, and not the host itself.
        ports: that are meant; none for every one, which no entry of the setting can say.
    """

    host: str
    is_below: bool = False
    ports: tuple[int, ...] = USUAL_PORTS

    def fits(self, host: str, port: int) -> bool:
        """Whether it allows a host (from `read_host`) at a port."""
        return self.names(host) and (not self.ports or port in self.ports)

    def names(self, host: str) -> bool:
        """Whether a host (from `read_host`) is one of those that are meant, at whatever port."""
        return host.endswith(f".{self.host}") if self.is_below else host == self.host


def read_allowed_host(text: str) -> AllowedHost:
    """Read an entry.

    Raises:
        BadInput: it is none.
    """
    host, port, is_below = _read_entry(text)
    if is_below and "." not in host:
        raise BadInput(f"{text[:_MOST_CHARS]!r} allows more than one owner's hosts; {FORM}")
    return AllowedHost(host, is_below, USUAL_PORTS if port is None else (port,))


def read_denied_host(text: str) -> AllowedHost:
    """Read an entry of what may not be reached: without a port it means every one, and `*.com` is one.

    Raises:
        BadInput: it is none.
    """
    host, port, is_below = _read_entry(text)
    return AllowedHost(host, is_below, () if port is None else (port,))


def _read_entry(text: str) -> tuple[str, int | None, bool]:
    shown = repr(text[:_MOST_CHARS])
    if "/" in text:
        raise BadInput(f"{shown} is more than a host; {FORM}")
    is_below = text.startswith("*.")
    place = read_authority(text.removeprefix("*."), None)
    if place is None or (is_below and address_of(place[0]) is not None):
        raise BadInput(f"{shown} names no host; {FORM}")
    return *place, is_below


def read_authority(text: str, usual_port: int | None) -> tuple[str, int | None] | None:
    """Read host and port as a URL has them.

    Args:
        text: without a user's name.
        usual_port: if it names none.

    Returns:
        The host as `read_host` gives it, and the port; None for anything else.
    """
    found = _AUTHORITY.fullmatch(text)
    host = read_host(found[1]) if found else None
    if found is None or host is None or (":" in host) is not found[1].startswith("["):
        return None
    port = int(found[2]) if found[2] else usual_port
    return None if port is not None and not 0 < port < 65_536 else (host, port)


def read_host(text: str) -> str | None:
    """A host in the one form that is compared, or None.

    A name that ends in a number is none: resolvers read `127.1` and `0x7f000001` as addresses.
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address = address_of(bare)
    if address is not None:
        return None if "%" in bare else str(address)
    name = bare.lower().removesuffix(".")
    labels = name.split(".")
    if bare != text or len(name) > _MOST_CHARS or not all(map(_LABEL.fullmatch, labels)):
        return None
    return None if _NUMBER.fullmatch(labels[-1]) else name


def address_of(text: str) -> Address | None:
    """The address that a text is, or None."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_allowed(entries: Iterable[AllowedHost], host: str, port: int) -> bool:
    """Whether one of the entries allows this host (from `read_host`) at this port."""
    return any(entry.fits(host, port) for entry in entries)


def is_inner(host: str) -> bool:
    """Whether a host is written as an address that is not one of the public internet, or names this machine."""
    address = address_of(host)
    return (
        host == "localhost" or host.endswith(".localhost") or (address is not None and inner_kind(address) is not None)
    )


def is_denied(entries: Iterable[AllowedHost], host: str, port: int) -> bool:
    """Whether one of the entries denies this host (from `read_host`) at this port.

    An address of version 6 that only wraps one of version 4 is that one, too.
    """
    address = address_of(host)
    inner = None if address is None else _embedded(address)
    names = (host,) if inner is None else (host, str(inner))
    return any(entry.fits(name, port) for entry in entries for name in names)


def inner_kind(address: Address) -> str | None:
    """What an address is that no name from outside may lead to, for people; None for one of the public internet.

    A name's owner says what addresses it has, and would have the proxy reach what only this machine or its network can.
    """
    embedded = _embedded(address)
    if address in _METADATA:
        return "an address of a cloud's metadata"
    if embedded is not None:
        return inner_kind(embedded)
    kinds = {
        "a multicast address": address.is_multicast,
        "a loopback address": address.is_loopback or address.is_unspecified,
        "a link-local address": address.is_link_local,
        "a private or reserved address": not address.is_global or any(address in network for network in _RESERVED),
    }
    return next((kind for kind, holds in kinds.items() if holds), None)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The address of version 4 that one of version 6 leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)

"""URLs that stay on this machine. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit


def check_loopback_url(url: str) -> str:
    """A http URL of this machine, as it was given.

    Raises:
        ValueError: it is none; the message says why.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not url.isprintable() or " " in url:
        raise ValueError("a URL that begins with http:// is wanted")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL without a user and a password is wanted")
    host = parts.hostname or ""
    if not _is_loopback(host):
        raise ValueError(
            f"{host or 'no host'} is not this machine: prompts are told to 127.0.0.1, [::1] or localhost alone"
        )
    _ = parts.port  # raises where it is no number
    return url


def _is_loopback(host: str) -> bool:
    import ipaddress  # noqa: PLC0415 - every process reads settings, and few have such an address

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

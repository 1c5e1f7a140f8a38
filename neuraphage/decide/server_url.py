"""Server URLs: what people write for the state server and the broker, in one set of forms for both.

| form | server |
| --- | --- |
| `redis://[user:password@]host:port/db` | one server |
| `rediss://...?ssl_ca_certs=/path/ca.pem` | one server, by TLS |
| `unix://[user:password@]/path/to/socket?db=1` | one server of this machine |
| `sentinel://[user:password@]host:port,host:port/db?service_name=name` | the master that these Sentinels name |

Celery's own form of the last, `sentinel://host:port;sentinel://host:port/db`, is read too; then the name stands in the
query of any part, as `service_name` or `master_name`. Further words of a Sentinel query: `sentinel_username`,
`sentinel_password` (of the Sentinels themselves), `ssl=true` and the `ssl_*` words of redis-py (TLS to all of them).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from neuraphage.errors import SettingsError

SENTINEL = "sentinel"
SENTINEL_PORT = 26_379
MAX_PORT = 65_535
SENTINEL_TIMEOUT_S = 1.0
"""Longest wait for one Sentinel; then the next one is asked."""
FORMS = (
    "write redis://host:port/db, rediss://..., unix:///path?db=1 or sentinel://host:port,host:port/db?service_name=name"
)
_OF_ONE_SERVER = frozenset({"redis", "rediss"})
_SCHEMES = _OF_ONE_SERVER | {"unix", SENTINEL}
_BROKER_SCHEMES = _SCHEMES | {"redis+socket"}
"""kombu's own name of a socket too."""
_QUOTING = "in a user name or password write / as %2F, ? as %3F, # as %23 and @ as %40"
_PLAIN_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}")
_NAMES = ("service_name", "master_name")
_OWN_WORDS = frozenset({*_NAMES, "db", "ssl", "sentinel_username", "sentinel_password"})
_NAME_OF_CHECK = re.compile(r"([?&]ssl_cert_reqs=)CERT_(REQUIRED|OPTIONAL|NONE)\b")
"""How OpenSSL's constants are called; kombu takes them too."""
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """A master known by its service name.

    Args:
        sentinels: (host, port) of each Sentinel.
        service_name: what the Sentinels call the master.
        db: database of the master.
        username, password: of the master.
        sentinel_username, sentinel_password: of the Sentinels.
        tls: whether all of them are spoken to by TLS.
        tls_options: redis-py's `ssl_*` words, as written.
    """

    sentinels: tuple[tuple[str, int], ...]
    service_name: str
    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)
    tls: bool = False
    tls_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """The broker as Celery takes it.

    Args:
        url: kombu's URL.
        transport_options: what kombu wants beside it.
        tls: for `broker_use_ssl`; None without TLS. `ssl_*` words of a rediss:// URL come before it.
    """

    url: str = field(repr=False)
    transport_options: Mapping[str, object] = field(default_factory=dict, repr=False)
    tls: Mapping[str, str] | None = None


def is_sentinel(url: str) -> bool:
    """Whether the URL names a master by its Sentinels."""
    return url.startswith(f"{SENTINEL}://")


def check_server_url(url: str, *, of_broker: bool) -> None:
    """Look at a URL as a person wrote it, before anything is done with it.

    Args:
        url: of the state server or the broker.
        of_broker: the broker's may name several servers, with `;` between them, and has one form more.

    Raises:
        SettingsError: its scheme is none of the above, or a port or database is no number. The message quotes the
            scheme at most: the rest may hold a password.
    """
    for piece in url.split(";") if of_broker and not is_sentinel(url) else [url]:
        _check_piece(piece, _BROKER_SCHEMES if of_broker else _SCHEMES)


def _check_piece(url: str, schemes: frozenset[str]) -> None:
    """See `check_server_url`."""
    scheme, colon, _ = url.partition("://")
    if not colon or not _PLAIN_SCHEME.fullmatch(scheme):
        raise SettingsError(f"this is no URL of a server; {FORMS}")
    if scheme not in schemes:
        raise SettingsError(f"{scheme}:// is no server that neuraphage works with; {FORMS}")
    if scheme == SENTINEL:
        parse_sentinel(url)
    elif scheme in _OF_ONE_SERVER:
        parts = _split(url)
        try:
            _ = parts.port
        except ValueError:  # its words quote the port, which may be the beginning of a password
            raise SettingsError(f"its port is no number from 0 to {MAX_PORT}; {_QUOTING}") from None
        _database(parts.path)


def parse_sentinel(url: str) -> SentinelUrl:
    """Read a Sentinel URL, in our form or in Celery's.

    Raises:
        SettingsError: it names no Sentinel, no service, or a wrong port, database or word; the URL is not quoted.
    """
    # a list of hosts is no netloc: some releases of Python refuse a bracket that is not its first character
    plain = url.replace("[", "%5B").replace("]", "%5D")
    pieces = [_split(piece) for piece in plain.split(";") if piece]
    query = {name: value for piece in pieces for name, value in parse_qsl(piece.query)}
    strange = sorted(name for name in query if name not in _OWN_WORDS and not name.startswith("ssl_"))
    if strange:
        named = ", ".join(name for name in strange if name.isidentifier()) or "such word"  # it may be half a password
        raise SettingsError(f"a sentinel:// URL takes no {named}; it takes {', '.join(sorted(_OWN_WORDS))}")
    service_name = next((query[name] for name in _NAMES if query.get(name)), "")
    if not service_name:
        raise SettingsError(
            "a sentinel:// URL must say which master it means: sentinel://host:26379,host:26379/1?service_name=mymaster"
        )
    users = [piece.netloc.rpartition("@")[0] for piece in pieces if "@" in piece.netloc]
    username, _, password = (users[0] if users else "").partition(":")
    hosts = [host for piece in pieces for host in piece.netloc.rpartition("@")[2].split(",")]
    tls_options = {name: value for name, value in query.items() if name.startswith("ssl_")}
    return SentinelUrl(
        sentinels=tuple(_host(unquote(host)) for host in hosts),
        service_name=service_name,
        db=_database(query.get("db") or next((p.path for p in reversed(pieces) if p.path.strip("/")), "")),
        username=unquote(username) or None,
        password=unquote(password) or None,
        sentinel_username=query.get("sentinel_username"),
        sentinel_password=query.get("sentinel_password"),
        tls=query.get("ssl", "").lower() in _TRUE or bool(tls_options),
        tls_options=tls_options,
    )


def broker_address(url: str) -> BrokerAddress:
    """The broker in kombu's own words.

    Args:
        url: one of the forms above, or any URL that kombu reads.

    Raises:
        SettingsError: a Sentinel or unix URL that cannot be read.
    """
    if is_sentinel(url):
        return _sentinel_broker(parse_sentinel(url))
    if url.startswith("unix://"):
        parts = _split(url)
        database = _database(dict(parse_qsl(parts.query)).get("db", ""))
        return BrokerAddress(f"redis+socket://{parts.netloc}{parts.path}?{urlencode({'virtual_host': database})}")
    # kombu trusts every certificate when the URL has no word about them; the state server's connection trusts none
    return BrokerAddress(url, tls={"ssl_cert_reqs": "required"} if url.startswith("rediss://") else None)


def broker_servers(url: str) -> tuple[str, ...]:
    """The broker's servers in the words that redis-py reads, in the order in which they are asked.

    Args:
        url: as for `broker_address`.

    Raises:
        SettingsError: a URL of a socket that cannot be read.
    """
    return (url,) if is_sentinel(url) else tuple(_plain_words(piece) for piece in url.split(";") if piece)


def socket_of(url: str) -> str | None:
    """Path of the socket that a server's URL names; None where it names none."""
    is_socket = url.startswith(("unix://", "redis+socket://"))
    return _split(url.removeprefix("redis+")).path or None if is_socket else None


def _plain_words(url: str) -> str:
    """One server's URL without the words that kombu alone knows."""
    if url.startswith("redis+socket://"):
        parts = _split(url.removeprefix("redis+"))
        query = dict(parse_qsl(parts.query))
        query["db"] = str(_database(query.pop("virtual_host", "")))
        return f"unix://{parts.netloc}{parts.path}?{urlencode(query)}"
    return _NAME_OF_CHECK.sub(lambda found: found[1] + found[2].lower(), url)


def sentinel_login(found: SentinelUrl) -> dict[str, object]:
    """How each Sentinel is connected to, in redis-py's words."""
    login: dict[str, object] = {"socket_timeout": SENTINEL_TIMEOUT_S, "socket_connect_timeout": SENTINEL_TIMEOUT_S}
    login["retry"] = None  # a Sentinel that is down costs one try: the next one is asked
    names = {"username": found.sentinel_username, "password": found.sentinel_password}
    login |= {name: value for name, value in names.items() if value is not None}
    return login | ({"ssl": True, **found.tls_options} if found.tls else {})


def _sentinel_broker(found: SentinelUrl) -> BrokerAddress:
    user = "" if found.username is None else quote(found.username, safe="")
    secret = "" if found.password is None else f":{quote(found.password, safe='')}"
    login = f"{user}{secret}@" if user or secret else ""
    options = {"master_name": found.service_name, "sentinel_kwargs": sentinel_login(found)}
    urls = [f"{SENTINEL}://{login}{_bracketed(host)}:{port}/{found.db}" for host, port in found.sentinels]
    tls = {"ssl_cert_reqs": "required", **found.tls_options} if found.tls else None
    return BrokerAddress(";".join(urls), options, tls)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:  # its words may quote the URL, which may hold a password
        raise SettingsError("a server URL cannot be read: its host or port is broken") from error
    if parts.fragment or ("@" in parts.path and not url.startswith(("unix://", "socket://"))):
        raise SettingsError(f"a server URL cannot be read: {_QUOTING}")  # what looks like its host is no host
    return parts


def _host(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(SENTINEL_PORT)
    whole = host.startswith("[") == host.endswith("]")
    if not host or not whole or not port.isdecimal() or int(port) > MAX_PORT:
        raise SettingsError(f"a sentinel:// URL names its Sentinels as host:port,host:port; {text!r} is none")
    return host.strip("[]"), int(port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _database(text: str) -> int:
    number = text.strip("/")
    if number and not number.isdecimal():
        raise SettingsError(f"{number!r} is no number of a database; write /0, /1, ...")
    return int(number or 0)

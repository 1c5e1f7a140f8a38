"""State server and broker are two databases; where only one is named, the other is beside it on the same server.

| named | the other |
| --- | --- |
| `redis://host:port/db`, `rediss://...`, `sentinel://...` | the same with another number of the database |
| `unix:///path?db=1`, `redis+socket:///path?virtual_host=1` | `unix:///path?db=` and another number |

The number is 1 for the state server and 0 for the broker; where the named one has just that, the other has the other.
"""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from neuraphage.errors import SettingsError

BROKER_DB = 0
STATE_DB = 1
_SOCKETS = frozenset({"unix", "redis+socket"})
_NUMBERED = frozenset({"redis", "rediss", "sentinel"})
_WORDS = frozenset({"db", "virtual_host"})


def beside(url: str, *, broker: bool) -> str:
    """The URL of the broker from that of the state server, or the other way round.

    Args:
        url: the one that is named; checked by `check_server_url`.
        broker: whether the broker is wanted.

    Raises:
        SettingsError: it names several brokers, so there is no one server to be beside.
    """
    wanted = "broker_url" if broker else "state_url"
    if ";" in url:
        raise SettingsError(f"{wanted} is not set, and cannot be derived from a list of servers: set it too")
    parts = _parts(url)
    usual, other = (BROKER_DB, STATE_DB) if broker else (STATE_DB, BROKER_DB)
    number = other if _database(parts) == usual else usual
    if parts.scheme in _SOCKETS:
        made = parts._replace(scheme="unix", query=_without_number(parts, {"db": str(number)}))
    elif parts.scheme in _NUMBERED:
        made = parts._replace(path=f"/{number}", query=_without_number(parts, {}))
    else:
        raise SettingsError(f"{wanted} is not set, and cannot be derived from a {parts.scheme}:// URL: set it too")
    query = f"?{made.query}" if made.query else ""
    return f"{made.scheme}://{made.netloc}{made.path}{query}".replace("%5B", "[").replace("%5D", "]")


def refuse_one_database(state_url: str, broker_url: str) -> None:
    """See that the two are not one.

    Raises:
        SettingsError: they name the same database.
    """
    if is_one_database(state_url, broker_url):
        raise SettingsError(
            "state_url and broker_url name the same database: a purge of the queue would delete every task;"
            " give one of them another database number"
        )


def is_one_database(state_url: str, broker_url: str) -> bool:
    """Whether both URLs are one and the same database, as far as their words tell."""
    state, broker = _parts(state_url), _parts(broker_url)
    if ";" in broker_url or (state.scheme in _SOCKETS) != (broker.scheme in _SOCKETS):
        return state_url == broker_url
    return _server(state) == _server(broker) and _database(state) == _database(broker)


def _parts(url: str) -> SplitResult:
    """A list of hosts is no netloc: some releases of Python refuse a bracket that is not its first character."""
    return urlsplit(url.replace("[", "%5B").replace("]", "%5D"))


def _server(parts: SplitResult) -> tuple[str, ...]:
    if parts.scheme in _SOCKETS:
        return (parts.path,)
    query = dict(parse_qsl(parts.query))
    return (parts.netloc.rpartition("@")[2], query.get("service_name") or query.get("master_name") or "")


def _database(parts: SplitResult) -> int:
    """The number that counts: of the query, else of the path; 0 where none is written."""
    query = dict(parse_qsl(parts.query))
    path = "" if parts.scheme in _SOCKETS else parts.path
    text = query.get("db") or query.get("virtual_host") or path
    number = text.strip("/")
    return int(number) if number.isdecimal() else 0


def _without_number(parts: SplitResult, more: dict[str, str]) -> str:
    kept = {name: value for name, value in parse_qsl(parts.query) if name not in _WORDS}
    return urlencode(kept | more, safe="/")

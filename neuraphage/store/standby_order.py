"""What the process beside a worker is told: where the state server is, whom to trust, and what to renew.

Relies on: a pool's `connection_class` and `connection_kwargs`, so that both processes reach the same server in the same
way, whatever the URL says. See tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0.
"""

from __future__ import annotations

import logging
from typing import Any

import redis

from neuraphage.decide.server_url import is_sentinel, parse_sentinel, sentinel_login
from neuraphage.store.context import StoreContext
from neuraphage.store.scripts import source_of

log = logging.getLogger(__name__)

_NEEDS_REDIS_PY = (
    "ssl_validate_ocsp",
    "ssl_validate_ocsp_stapled",
    "ssl_include_verify_flags",
    "ssl_exclude_verify_flags",
)
"""Checks of a certificate that the small process cannot make; it does not connect without them."""


def standby_order(context: StoreContext) -> dict[str, Any] | None:
    """Read it off the worker's own connection, so that both reach the same server as the same user.

    Args:
        context: the store.

    Returns:
        Plain values, with the password; None when the server's certificate is checked in ways that only redis-py knows.
    """
    settings, pool = context.settings, context.client.connection_pool
    words = pool.connection_kwargs
    if any(words.get(name) for name in _NEEDS_REDIS_PY):
        log.warning("no process beside this one: it cannot check the server's certificate as the URL asks")
        return None
    order: dict[str, Any] = {
        "path": words.get("path"),
        "host": words.get("host", "localhost"),
        "port": int(words.get("port", 6379)),
        "db": int(words.get("db") or 0),
        "username": words.get("username"),
        "password": words.get("password"),
        "tls": _tls(words) if issubclass(pool.connection_class, redis.SSLConnection) else None,
        "sentinels": [],
        "timeout_s": settings.state_wait_s,
        "heartbeat_s": settings.heartbeat_s,
        "effect_max_s": settings.effect_max_s,
        "lease_ms": context.lease_ms,
        "leases_key": context.keys.leases,
        "task_key": context.keys.task(""),
        "script": source_of("renew"),
    }
    url = settings.state_url.get_secret_value()
    return order | (_sentinels(url) if is_sentinel(url) else {})


def _sentinels(url: str) -> dict[str, Any]:
    found = parse_sentinel(url)
    login = sentinel_login(found)
    return {
        "sentinels": list(found.sentinels),
        "service_name": found.service_name,
        "sentinel_username": login.get("username"),
        "sentinel_password": login.get("password"),
        "sentinel_tls": _tls(login) if found.tls else None,
    }


def _tls(words: Any) -> dict[str, Any]:
    """The `ssl_*` words without their prefix, in plain values."""
    plain: dict[str, Any] = {"cert_reqs": "required"}
    for name, value in words.items():
        if name.startswith("ssl_") and value is not None:
            is_number = isinstance(value, int) and not isinstance(value, bool)
            plain[name.removeprefix("ssl_")] = int(value) if is_number else value
    return plain

"""What a redis error means, in words: what was found and what to do next. Pure."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator

import redis

from neuraphage.errors import AccessRefused, DamagedKey, StoreError, StoreUnavailable
from neuraphage.store.sentinel import LoginRefused, NoSuchService

OLDEST_SERVER = (6, 2)
"""Celery's broker needs it; Valkey counts on from Redis 7.2."""

_UNAVAILABLE = (
    redis.exceptions.ConnectionError,  # refused, broken, LOADING (BusyLoadingError)
    redis.exceptions.TimeoutError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
)
_UNAVAILABLE_PREFIXES = (
    "MISCONF",
    "OOM",
    "READONLY",
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "NOREPLICAS",
    "CLUSTERDOWN",
)
_STRIPPED = ((redis.exceptions.OutOfMemoryError, "OOM"), (redis.exceptions.ReadOnlyError, "READONLY"))
"""Codes that redis-py takes off the server's words; operators and RUNBOOK.md know them."""
_TAKES_NO_WRITES = {
    "OOM": "is full ({}): nothing was done; give it more memory (RUNBOOK.md, The server is full), then repeat",
    "MISCONF": "cannot write to its disk ({}): nothing was done; free some space (RUNBOOK.md, The server is full), then"
    " repeat",
    "READONLY": "takes no writes now ({}): nothing was done; it may be a replica after a failover, repeat when that is"
    " over",
}
_LOGIN_PREFIXES = ("NOAUTH", "WRONGPASS")
_NOT_ALLOWED_PREFIXES = ("NOPERM", "ACL failure in script", "The user executing the script can't ")
"""A refusal by the user's rules: of a command of its own, and inside a script of servers from 7 and before."""
_INSIDE_A_SCRIPT = re.compile(r"Error running script \(call to f_\w+\): (?:@user_script: ?\d+: )+")
"""What a server before Redis 7 puts before a refusal that a script of ours met."""


_HANDSHAKE_ADVICE = "; whether its port speaks TLS at all, `neuraphage doctor` tells"
_PLAIN_WORDS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"})
"""OpenSSL's names for an answer that is no TLS."""


class ServerTooOld(redis.exceptions.RedisError):
    """The server is older than what neuraphage and Celery need."""


def is_unavailable(error: redis.exceptions.RedisError) -> bool:
    """Whether waiting and repeating is right."""
    return isinstance(error, _UNAVAILABLE) or words_of(error).startswith(_UNAVAILABLE_PREFIXES)


def _has_answered(error: redis.exceptions.RedisError) -> bool:
    return isinstance(error, redis.exceptions.ResponseError | redis.exceptions.BusyLoadingError)


def words_of(error: BaseException) -> str:
    """The server's own words; redis-py puts a pipeline's command before them, an old server the script."""
    text = str(error)
    if text.startswith("Command # "):
        text = text.rpartition("caused error: ")[2]
    text = _INSIDE_A_SCRIPT.sub("", text, count=1).lstrip("-")
    for known, code in _STRIPPED:
        if isinstance(error, known) and not text.startswith(code):
            return f"{code} {text}"
    return text


def store_error(what: str, error: redis.exceptions.RedisError) -> StoreError:
    """Our error for one of redis-py's.

    Args:
        what: what was tried.
        error: what came back.
    """
    advice = refused_because(error)
    if advice is not None:
        return AccessRefused(f"{what}: {advice}")
    if words_of(error).startswith("WRONGTYPE"):
        return DamagedKey(f"{what}: a stored key is damaged ({words_of(error)}); `neuraphage repair` puts it right")
    if is_unavailable(error):
        # a refusal under the base class would hide that the server is there: its words are what an operator needs
        said = words_of(error) if _has_answered(error) else ""
        for code, text in _TAKES_NO_WRITES.items():
            if said.startswith(code):
                return StoreUnavailable(f"{what}: the state server {text.format(said)}", words=said)
        state = "refuses this now" if said else "did not answer"
        return StoreUnavailable(
            f"{what}: the state server {state} ({type(error).__name__}: {error}); "
            f"nothing was half done, repeat when it is back{_HANDSHAKE_ADVICE * _is_slow_handshake(error)}",
            words=said,
        )
    return StoreError(f"{what}: the state server refused ({type(error).__name__}: {error})")


def refused_because(error: redis.exceptions.RedisError) -> str | None:
    """Why the server lets this process not in, and what to correct; None when that is not the trouble."""
    text = words_of(error)
    if isinstance(error, NoSuchService):
        return f"{text}; correct service_name in the server's URL"
    if isinstance(error, ServerTooOld):
        return text
    if isinstance(error, LoginRefused | redis.exceptions.AuthenticationError) or text.startswith(_LOGIN_PREFIXES):
        return _login_advice(text)
    if isinstance(error, redis.exceptions.NoPermissionError) or text.startswith(_NOT_ALLOWED_PREFIXES):
        return f"the state server's ACL does not allow this to the user of the URL ({text}); extend the user's rules"
    if "unknown command" in text.lower():
        return f"the state server is too old: {too_old_text()} ({text})"
    return _tls_advice(error)


def too_old_text(found: str = "") -> str:
    """What is needed, beside what was found."""
    oldest = ".".join(map(str, OLDEST_SERVER))
    return f"neuraphage needs Redis {oldest} or newer, or Valkey" + (f"; this server is {found}" if found else "")


def _login_advice(text: str) -> str:
    lower = text.lower()
    if "without any password" in lower:
        return f"the state server has no password and the URL gives one ({text}); leave it out of the URL"
    if text.startswith("NOAUTH") or "authentication required" in lower or "already authenticated" in lower:
        return "the state server asks for a password and the URL gives none; write redis://user:password@host:port/db"
    return f"the state server refused the user name or password of the URL ({text}); correct it"


def _tls_advice(error: BaseException) -> str | None:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            said = getattr(cause, "verify_message", cause)
            trust = "name the authority that signed it in the URL: ?ssl_ca_certs=/path/ca.pem"
            return f"the certificate of the state server is not trusted ({said}); {trust}"
        if isinstance(cause, ssl.SSLError) and "CERTIFICATE_REQUIRED" in str(cause):
            return "the state server asks for a certificate: ?ssl_certfile=/path/cert.pem&ssl_keyfile=/path/key.pem"
        if isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _PLAIN_WORDS:
            return "the state server answers without TLS; write redis:// in place of rediss://, or name its TLS port"
    return None


def _is_slow_handshake(error: BaseException) -> bool:
    """Whether nothing came back to the beginning of TLS: from a frozen server, or from a port that speaks none."""
    return any(isinstance(cause, TimeoutError) and "handshake" in str(cause) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(8):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__

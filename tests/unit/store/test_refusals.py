"""What redis-py's errors mean: each with what to correct, or with the advice to wait."""

from __future__ import annotations

import ssl

import pytest
import redis

from neuraphage.errors import AccessRefused, DamagedKey, StoreError, StoreUnavailable
from neuraphage.store.refusals import ServerTooOld, store_error
from neuraphage.store.sentinel import LoginRefused, NoSuchService

exceptions = redis.exceptions
IN_A_SCRIPT = (
    "Error running script (call to f_cd58493c7b30c6a0984227b7f1c3b663ca6b8416): @user_script:201: @user_script: 201: "
)
"""What Redis 6.2 puts before its refusal of a command inside a script."""


def caused(cause: BaseException) -> redis.exceptions.RedisError:
    """As redis-py raises it: while the cause is handled."""
    error = exceptions.ConnectionError("Error 1 connecting to h:1")
    error.__context__ = cause
    return error


def answer_without_tls() -> ssl.SSLError:
    """As OpenSSL calls an answer in plain words."""
    error = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LoginRefused("WRONGPASS invalid username-password pair"), "user name or password"),
        (LoginRefused("HELLO must be called with the client already authenticated"), "gives none"),
        (exceptions.ResponseError("NOAUTH Authentication required."), "gives none"),
        (exceptions.AuthenticationError("AUTH <password> called without any password configured"), "has no password"),
        (exceptions.NoPermissionError("User u has no permissions to run the 'get' command"), "ACL"),
        (exceptions.ResponseError("Command # 1 (GET k) of pipeline caused error: NOPERM no keys"), "ACL"),
        (
            exceptions.ResponseError("ACL failure in script: User u has no permissions to run the 'rpush' command"),
            "ACL",
        ),
        (exceptions.ResponseError(IN_A_SCRIPT + "The user executing the script can't run this command"), "ACL"),
        (exceptions.ResponseError("unknown command `HELLO`, with args beginning with: `3`"), "too old"),
        (ServerTooOld("the state server is too old"), "too old"),
        (NoSuchService("the Sentinels know no service 'x'"), "service_name"),
        (caused(ssl.SSLCertVerificationError(1, "certificate verify failed")), "not trusted"),
        (caused(ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]")), "ssl_certfile"),
        (caused(answer_without_tls()), "without TLS; write redis://"),
    ],
)
def test_refused(error: redis.exceptions.RedisError, words: str) -> None:
    """Waiting alone does not help, so the message says what does."""
    found = store_error("list tasks", error)
    assert isinstance(found, AccessRefused)
    assert str(found).startswith("list tasks: ")
    assert words in str(found)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConnectionError("Error 111 connecting to h:1. Connection refused."),
        exceptions.TimeoutError("Timeout reading from socket"),
        exceptions.BusyLoadingError("loading"),
        caused(TimeoutError("_ssl.c:989: The handshake operation timed out")),  # frozen, as far as anybody knows
        exceptions.ResponseError("Command # 1 (SET k) of pipeline caused error: MISCONF no disk"),
        # Redis 6.2: as a script meets them
        exceptions.ResponseError(IN_A_SCRIPT + "-OOM command not allowed when used memory > 'maxmemory'."),
        exceptions.ResponseError(IN_A_SCRIPT + "-READONLY You can't write against a read only replica."),
        exceptions.ResponseError(IN_A_SCRIPT + "-NOREPLICAS Not enough good replicas to write."),
    ],
)
def test_away(error: redis.exceptions.RedisError) -> None:
    """The server comes back by itself."""
    found = store_error("list tasks", error)
    assert type(found) is StoreUnavailable
    assert "repeat" in str(found)


def test_other_errors() -> None:
    """A bug is neither of both, nor is one of a script that quotes a refusal."""
    for text in (IN_A_SCRIPT + "bad argument to 'unpack'", "it said: " + IN_A_SCRIPT + "-OOM"):
        assert type(store_error("claim", exceptions.ResponseError(text))) is StoreError


def test_a_damaged_key_is_no_refusal_of_all() -> None:
    """It is one record's trouble, so a sweep goes on with the others; the message says what puts it right."""
    found = store_error("claim", exceptions.ResponseError("WRONGTYPE np:{a}:outbox is a string and should be a zset"))
    assert type(found) is DamagedKey
    assert "neuraphage repair" in str(found)

"""Which values of an environment are secret. Pure."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote

from neuraphage.redaction.assignments import KEYS, PASS_OF
from neuraphage.redaction.patterns import MIN_VALUE_CHARS

SECRET_WORDS = frozenset(
    {
        *("KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS"),
        *("PASS", "PASSPHRASE", "PASSCODE", "PASSWORD", "PASSWD"),
    }
)
"""Words that mean a secret anywhere in a name."""
LAST_WORDS = frozenset(
    {"PAT", "SK", "AUTH", "PWD", "PW", "PSK", "CREDS", "CRED", "JWT", "BEARER", "DSN", "PEM", "COOKIE", "AUTHS"}
)
"""Words that mean a secret at the end of a name alone: AUTH_MODE holds none."""
ENDINGS = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH_CONFIG"),
    *("CONNECTION_STRING", "CONN_STR", "CONNSTR"),
    *(f"{word.upper()}KEY" for word in KEYS),
    *(f"{word.upper()}{name}" for word in PASS_OF for name in ("PASS", "PW", "PWD")),
)
"""Endings that no `_` needs to part from what stands before: PGPASSWORD, SSHPASS, TS_AUTHKEY."""
_NO_SECRETS = frozenset({"PWD", "OLDPWD"})
_TRIVIAL = frozenset(
    {
        *("localhost", "127.0.0.1", "disabled", "enabled", "required", "optional", "password", "changeme", "default"),
        *("undefined", "kerberos", "negotiate"),
    }
)
_PATH = re.compile(
    r"(?:~|\.{1,2})/|[A-Za-z]:\\|/(?:Applications|Library|Users|Volumes|app|bin|data|dev|etc|home|lib|mnt|opt|private"
    r"|proc|root|run|srv|sys|tmp|usr|var|work|workspace)(?:/|$)"
)
_FILE = re.compile(r"[\w.-]+\.(?:pem|key|crt|cer|json|ya?ml|toml|p12|txt)", re.IGNORECASE)
_PUBLIC = re.compile(r"-----BEGIN (?:TRUSTED )?(?:CERTIFICATE|(?:[A-Z]+ )?PUBLIC KEY)")
_URL_USERINFO = re.compile(r"://[^\s/:@]{0,128}:([^\s/@]{8,256})@")
_URL_KEY = re.compile(r"://([^\s/:@]{16,256})@")
_NAMED = re.compile(
    r"""(?:password|passwd|pwd|pass|secret|token|accountkey|sharedaccesskey)["']?\s?[=:]\s?["']?([^\s;&,"']{8,256})""",
    re.IGNORECASE,
)
_GO_PASSWORD = re.compile(r":([^\s:@/]{8,256})@(?:tcp|unix)\(")
_DOCKER_LOGIN = re.compile(r""""auth"\s*:\s*"([A-Za-z0-9+/=]{8,2048})\"""")
_LOGIN = re.compile(r"[^\s:,]{1,64}:([^\s,]{8,256})")


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """Pick the values of an environment that are secret.

    A variable counts by its name (see `names_secret`); of any other variable only the password inside a URL counts.
    What is secret within a value counts by itself, too: passwords of logins (`FLOWER_BASIC_AUTH=user:password`), of
    connection strings (`...;Password=x;...`) and of Docker's `{"auths": ...}`, and a DSN's key (`https://key@host`).

    Args:
        environ: names and values.

    Returns:
        Values of 8 characters and more, without everyday ones (`localhost`, `disabled`, paths).
    """
    found: set[str] = set()
    for name, value in environ.items():
        found.update(form for raw in _URL_USERINFO.findall(value) for form in (raw, unquote(raw)))
        if not names_secret(name):
            continue
        for pattern in (_NAMED, _GO_PASSWORD, _URL_KEY):
            found.update(pattern.findall(value))
        found.update(_docker_logins(value))
        if "://" not in value or value.lstrip().startswith("{"):
            found.add(value.strip())
            if name.upper().endswith("AUTH"):
                found.update(_LOGIN.findall(value))
    return frozenset(value for value in found if len(value) >= MIN_VALUE_CHARS and not _is_trivial(value))


def names_secret(name: str) -> bool:
    """Whether a variable's name says that its value is secret: API_KEY, GITHUB_PAT, PGPASSWORD, BASIC_AUTH."""
    upper = name.upper()
    words = upper.split("_")
    if upper in _NO_SECRETS:
        return False
    return upper.endswith(ENDINGS) or not SECRET_WORDS.isdisjoint(words) or words[-1] in LAST_WORDS


def _docker_logins(value: str) -> Iterator[str]:
    """The logins of Docker's JSON as they stand there, in base64, and their passwords."""
    for login in _DOCKER_LOGIN.findall(value):
        yield login
        with suppress(ValueError):
            yield b64decode(login, validate=True).decode().partition(":")[2]


def _is_trivial(value: str) -> bool:
    is_place = _PATH.match(value) is not None or _FILE.fullmatch(value) is not None
    return value.lower() in _TRIVIAL or is_place or _PUBLIC.match(value) is not None

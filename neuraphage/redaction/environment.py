"""Which values of an environment are secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from neuraphage.redaction.patterns import MIN_VALUE_CHARS

_WORDS = frozenset(
    {
        *("KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS"),
        *("PASS", "PASSPHRASE", "PASSCODE", "PASSWORD", "PASSWD"),
    }
)
_LAST_WORDS = frozenset({"PAT", "SK", "AUTH", "PWD", "PW"})
"""Words that mean a secret at the end of a name alone: AUTH_MODE holds none."""
_ENDINGS = ("TOKEN", "SECRET", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL")
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
_URL_USERINFO = re.compile(r"://[^\s/:@]{0,128}:([^\s/@]{8,256})@")
_LOGIN = re.compile(r"[^\s:,]{1,64}:([^\s,]{8,256})")


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """Pick the values of an environment that are secret.

    A variable counts by its name (see `names_secret`); of any other variable only the password inside a URL counts. Of
    logins (`FLOWER_BASIC_AUTH=user:password`) the passwords count by themselves, too.

    Args:
        environ: names and values.

    Returns:
        Values of 8 characters and more, without everyday ones (`localhost`, `disabled`, paths).
    """
    found: set[str] = set()
    for name, value in environ.items():
        found.update(form for raw in _URL_USERINFO.findall(value) for form in (raw, unquote(raw)))
        if names_secret(name) and "://" not in value:
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
    return upper.endswith(_ENDINGS) or not _WORDS.isdisjoint(words) or words[-1] in _LAST_WORDS


def _is_trivial(value: str) -> bool:
    return value.lower() in _TRIVIAL or _PATH.match(value) is not None

"""Secrets that are known by where they stand: in a header, a URL, a file of logins; behind a name (`assignments`) and
on a command line (`command_lines`).

Each attempt at a match looks at a bounded text, or takes a run that is not looked at again, and touches
PATTERN_WORDS_MAX words at most. The values are ASCII, but for the two with `reach`.
"""

from __future__ import annotations

import base64
import binascii
import re

from neuraphage.redaction.assignments import ASSIGNMENTS, shell_value
from neuraphage.redaction.beginnings import BEGINNING
from neuraphage.redaction.command_lines import COMMAND_LINES
from neuraphage.redaction.patterns import Pattern, Regex, looks_random, random_value
from neuraphage.redaction.statements import STATEMENTS

_FLAGS = re.IGNORECASE | re.ASCII
# In JSON text the ends of lines and the quotes are escaped.
_GAP = r"(?:[ \t\r\n]|\\[nrt]){1,4}+(?!\\[nrt])"
_QUOTE = r"""(?:\\{0,3}["'])?"""
_AUTH_FIELD = Regex(
    rf"auth{_QUOTE}[ \t]{{0,8}}[:=][ \t]{{0,8}}{_QUOTE}(?P<value>[A-Za-z0-9+/]{{8,512}}+={{0,2}})", _FLAGS
)
_HEADER = Regex(
    rf"authorization{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}(?:bearer|basic|token|apikey|bot|key|ssws)(?:\s{{1,8}}|%20)"
    r"(?P<value>[\w.~+/:-]{8,}+={0,2})",
    _FLAGS,
)
_HEADER_ALONE = Regex(
    rf"authorization{_QUOTE}[ \t]{{0,8}}[:=][ \t]{{0,8}}{_QUOTE}(?P<value>[\w.~+/-]{{20,}}+={{0,2}})", _FLAGS
)
# A digest of the password, which may be guessed at home. Its order is free: it stands apart from its scheme.
_DIGEST = Regex(r"""response=\\{0,3}"(?P<value>[0-9a-f]{32,64})\\{0,3}[",]""", _FLAGS)
_BEARER_ALONE = Regex(rf"{BEGINNING}(?:bearer|basic)(?:[ \t]{{1,4}}|%20)(?P<value>[\w.~+/-]{{16,}}+={{0,2}})", _FLAGS)
_HEADER_KEY = Regex(
    rf"(?:(?:api|auth|access|application|app|subscription|functions)-key|apikey"
    rf"|(?:auth|vault|gitlab|private|access|csrf|security)-token){_QUOTE}[ \t]{{0,8}}:[ \t]{{0,8}}"
    rf"{_QUOTE}(?P<value>[\w+/.~-]{{8,}}+={{0,2}})",
    _FLAGS,
)
_URL_REACH = Regex(r"""://[^\s/:@\[\]"'<>{}]{0,128}(?::[^\s/@"'<>{}]{0,256}@?)?""")
_URL_PASSWORD = Regex(r"""://[^\s/:@\[\]"'<>{}]{0,128}:(?![${<]|%[s(])(?P<value>[^\s/@"'<>{}]{1,256})@""")
_URL_TOKEN = Regex(r"://(?P<value>[\w.-]{16,256})@", re.ASCII)
_PARAMETER_BEGINNING = r"(?:(?<=[?&;])|(?<=\\u0026)|(?<=%26)|(?<=%3f))"
_SIGNED = Regex(
    rf"{_PARAMETER_BEGINNING}(?:sig|x-amz-signature|x-goog-signature)(?:=|%3d)(?P<value>[\w%+/-]{{16,}}+=*)", _FLAGS
)
_SIGNED_HEADER = Regex(r"signature=(?P<value>[0-9a-f]{64})(?!\w)", _FLAGS)
_PARAMETERS = (
    *("key", "apikey", "api_key", "api-key", "subscription-key", "token", "access_token", "auth_token", "id_token"),
    *("refresh_token", "secret", "client_secret", "password", "passwd", "pass", "pwd", "auth", "jwt"),
)
_PARAMETER = Regex(
    rf"{_PARAMETER_BEGINNING}(?P<name>{'|'.join(_PARAMETERS)})(?:=|(?P<escaped>%3d))(?P<value>(?:[\w.~+/-]|%(?(escaped)(?!26|3d))){{8,}}+=*)",
    _FLAGS,
)
# As the drivers of Go have it: `user:password@tcp(host:3306)/db`.
_GO_DSN = Regex(r""":(?P<value>[^\s:@/"'`()<>{}\\\x80-\U0010ffff]{1,256})@(?:tcp|unix)\(""")
_NETRC = Regex(rf"{BEGINNING}login{_GAP}[!-~]{{1,128}}{_GAP}password{_GAP}(?P<value>[!-~]{{1,256}}+)", _FLAGS)
_NETRC_MACHINE = Regex(
    rf"{BEGINNING}machine{_GAP}[!-~]{{1,128}}{_GAP}login{_GAP}[!-~]{{1,128}}{_GAP}password{_GAP}"
    r"(?P<value>[!-~]{1,256}+)",
    _FLAGS,
)
_SESSION = Regex(
    r"""(?:sess(?:ion)?(?:[_-]?id)?|sid)=(?P<value>[\w+/~@!^*%.-]{16,}+={0,2})(?=[\s;&|"',\\]|$)""", _FLAGS
)
_PGPASS = Regex(r":(?:543\d|6432|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<value>[!-9;-~]{1,256}+)(?=\s|$)", re.ASCII)


def _parameter_value(match: re.Match[str]) -> bool:
    """Tell an API key from the key of a row: what is called `key` alone is long."""
    value = match["value"]
    return looks_random(value) and (match["name"].lower() != "key" or len(value) >= 16)


def _no_port(match: re.Match[str]) -> bool:
    return not match["value"].isdigit()


def _bearer_value(match: re.Match[str]) -> bool:
    """Tell a credential from the prose `Authorization: Bearer authentication`."""
    value = match["value"]
    return len(value) >= 20 or any(c.isdigit() or c.isupper() for c in value)


def _netrc_value(match: re.Match[str]) -> bool:
    return any(not c.isalpha() for c in match["value"].rstrip(".,;:!?)"))


def _auth_value(match: re.Match[str]) -> bool:
    """A user and a password in base64, as Docker and npm keep them, or what looks random."""
    value = match["value"]
    try:
        plain = base64.b64decode(value, validate=True)
    except binascii.Error:
        plain = b""
    is_login = 0 < plain.find(b":") < len(plain) - 1 and plain.isascii()
    return is_login or (len(value) >= 16 and looks_random(value))


CONTEXTS: tuple[Pattern, ...] = (
    Pattern("authorization", ("authorization",), _HEADER, _bearer_value),
    Pattern("authorization", ("authorization",), _HEADER_ALONE, random_value),
    Pattern("authorization", ("response=",), _DIGEST),
    Pattern("authorization", ("bearer", "basic"), _BEARER_ALONE, random_value),
    Pattern("header_key", (
        "api-key", "auth-key", "access-key", "application-key", "app-key", "subscription-key", "functions-key",
        "apikey", "auth-token", "vault-token", "gitlab-token", "private-token", "access-token",
        "csrf-token", "security-token",
    ), _HEADER_KEY, random_value),
    Pattern("url_password", ("://",), _URL_PASSWORD, reach=_URL_REACH),
    Pattern("url_password", ("://",), _URL_TOKEN, random_value),
    Pattern("url_password", ("@tcp(", "@unix("), _GO_DSN, _no_port, is_searched=True),
    Pattern("signature", ("sig=", "sig%3d", "x-amz-signature", "x-goog-signature"), _SIGNED),
    Pattern("signature", ("signature=",), _SIGNED_HEADER),
    Pattern("parameter", (*_PARAMETERS[1:], "key=", "key%3d"), _PARAMETER, _parameter_value),
    Pattern("login", ("auth",), _AUTH_FIELD, _auth_value),
    Pattern("password", ("login",), _NETRC, _netrc_value),
    Pattern("password", ("machine",), _NETRC_MACHINE),
    Pattern("session", ("sess", "sid="), _SESSION, shell_value),
    Pattern("password", (":543", ":6432:", ":*:"), _PGPASS),
    *COMMAND_LINES,
    *STATEMENTS,
    *ASSIGNMENTS,
)  # fmt: skip
"""Every place."""

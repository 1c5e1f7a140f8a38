"""Secrets that are known by where they stand: behind a name, in a header, in a URL, on a command line, in a file.

Each attempt at a match looks at a bounded text, or takes a run that is not looked at again, and touches
PATTERN_WORDS_MAX words at most. The values are ASCII, but for the two with `reach`.
"""

from __future__ import annotations

import base64
import binascii
import re

from neuraphage.redaction.patterns import MIN_VALUE_CHARS, Pattern, Regex, looks_random, turns

_FLAGS = re.IGNORECASE | re.ASCII
_WORDS = r"pass(?:word|wd|phrase|code)|psk|secret|credentials?"
_KEYS = r"(?:api|access|secret|private|account|shared|encryption|signing|master|auth|storage)[_-]?key"
# A match begins at the name's last word, so `DB_PASSWORD` matches at `PASSWORD`.
_NAME = rf"(?:{_WORDS}|{_KEYS}|token|auth|[_-](?:pat|sk|pwd))"
_NAME_NEEDLES = (
    *("password", "passwd", "passphrase", "passcode", "psk", "secret", "credential", "token", "auth"),
    *(f"{gap}{word}" for gap in "_-" for word in ("pat", "sk", "pwd")),
    *(f"{word}{gap}key" for gap in ("", "_", "-") for word in (
        "api", "access", "secret", "private", "account", "shared", "encryption", "signing", "master", "auth", "storage",
    )),
)  # fmt: skip
_LONE_NAMES = re.compile(r"(?:pass(?:word|wd|phrase))", _FLAGS)
_NO_VALUES = re.compile(r"(?:u?int|float|complex|bool|str|bytes?|base|utf|sha|md)\d", _FLAGS)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_ASSIGNED = Regex(
    _NAME + r"""["']?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}[fbru]?(?P<quote>["'])"""
    r"""(?P<value>[^"'\s\\<>{}()\[\]]{8,512})(?P=quote)""",
    _FLAGS,
)
# The longest names first: nothing behind the name has to follow, so the first one that fits is taken.
_ASSIGNED_REACH = Regex(
    rf"""(?:{_KEYS}|{_WORDS}|token|auth|[_-](?:pat|sk|pwd))["']?[ \t]{{0,8}}"""
    r"""(?:(?::=|=>|[:=])[ \t]{0,8}[fbru]?(?:["'][^"'\s\\<>{}()\[\]]{0,512}["']?)?)?""",
    _FLAGS,
)
# A shell assignment has no spaces. What follows tells it from a keyword argument or an expression.
_SHELL = Regex(_NAME + r"""=(?P<value>[\w+/~@!^*%.-]{8,}+={0,2})(?=[\s;&|"']|$)""", _FLAGS)
# `password: x` of YAML and `key = x` of INI, to the end of the line. Code has more behind it, or a type.
_LINE = Regex(
    rf"""(?P<name>{_NAME})["']?[ \t]{{0,8}}[:=][ \t]{{1,8}}(?P<value>[!#-&*-;=?-Z^-z|~]{{6,512}}+)"""
    r"""(?=[ \t]{0,8}(?:[\r\n#]|\\n|$))""",
    _FLAGS,
)
_BASIC_LOGIN = Regex(
    r"""basic[_-]auth["']?[ \t]{0,8}[:=][ \t]{0,8}\[?[ \t]{0,4}["']?"""
    r"""(?P<value>[\w.@-]{1,64}:[!#-&(-Z^-z|~]{1,256}+)""",
    _FLAGS,
)
_AUTH_FIELD = Regex(r"""auth["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?P<value>[A-Za-z0-9+/]{8,512}+={0,2})""", _FLAGS)
_HEADER = Regex(
    r"""authorization["']?\s{0,8}[:=]\s{0,8}["']?(?:bearer|basic|token|apikey|bot|key)\s{1,8}"""
    r"""(?P<value>[\w.~+/:-]{8,}+={0,2})""",
    _FLAGS,
)
_BEARER_ALONE = Regex(r"""(?<!\w)(?:bearer|basic)[ \t]{1,4}(?P<value>[\w.~+/-]{16,}+={0,2})""", _FLAGS)
_HEADER_KEY = Regex(
    r"""(?:x-api-key|api-key|(?:auth|vault|gitlab|private|access|csrf|security)-token)["']?[ \t]{0,8}:[ \t]{0,8}["']?"""
    r"""(?P<value>[\w+/.~-]{8,}+={0,2})""",
    _FLAGS,
)
_URL_REACH = Regex(r"""://[^\s/:@\[\]"'<>{}]{0,128}(?::[^\s/@"'<>{}]{0,256}@?)?""")
_URL_PASSWORD = Regex(r"""://[^\s/:@\[\]"'<>{}]{0,128}:(?![${<]|%[s(])(?P<value>[^\s/@"'<>{}]{1,256})@""")
_URL_TOKEN = Regex(r"://(?P<value>[\w.-]{16,256})@", re.ASCII)
_SIGNED = Regex(r"(?<=[?&;])(?:sig|x-amz-signature|x-goog-signature)=(?P<value>[\w%+/-]{16,}+=*)", _FLAGS)
_ARGUMENT = r"""["']?(?P<value>[!#%&(-,.-;?-Z^-z~][!#-&(-Z^-z~]{3,255}+)"""
_OPTION = Regex(
    r"--(?:\w{1,20}-){0,3}(?:password|passwd|passphrase|secret|token|(?:api|access|secret)-key|pass)[ \t=]" + _ARGUMENT,
    _FLAGS,
)
_LOGIN_OPTION = Regex(
    r"""(?<![\w-])(?:-u|--user|--proxy-user|-U)[ \t=]{0,2}["']?(?P<user>[\w.@-]{1,64}):"""
    r"""(?P<value>[!#-&(-Z^-z~]{1,256}+)""",
    re.ASCII,
)
_SSHPASS = Regex(r"""sshpass[ \t]{1,4}-p[ \t]{0,4}["']?(?P<value>[!#%&(-Z^-z~]{1,256}+)""", _FLAGS)
_MYSQL = Regex(
    r"""(?:(?<!\w)(?:mysql|mariadb)(?:-?\w{1,12})?|(?<![\w-])-u[ \t]{0,2}\w{1,32})(?:[ \t]{1,4}-[!-~]{1,64}){0,1}"""
    r"""[ \t]{1,4}-p["']?(?P<value>[!#%&(-,.-9:-Z^-z~]{3,128}+)""",
    _FLAGS,
)
_NETRC = Regex(r"(?<!\w)login\s{1,4}[!-~]{1,128}\s{1,4}password\s{1,4}(?P<value>[!-~]{1,256}+)", _FLAGS)
_NETRC_MACHINE = Regex(
    r"(?<!\w)machine\s{1,4}[!-~]{1,128}\s{1,4}login\s{1,4}[!-~]{1,128}\s{1,4}password\s{1,4}(?P<value>[!-~]{1,256}+)",
    _FLAGS,
)
_LOGIN_P = Regex(
    r"""(?<!\w)login(?:[ \t]{1,4}[\w.][\w.:/-]{0,127})?(?:[ \t]{1,4}-u[ \t]{1,4}[\w.@-]{1,64})?[ \t]{1,4}"""
    r"""-p[ \t]{1,4}["']?(?P<value>[!#%&(-,.-9:-Z^-z~]{3,128}+)""",
    _FLAGS,
)
_REDIS_CLI = Regex(
    r"""(?<!\w)(?:redis|valkey)-cli(?:[ \t]{1,4}-[hpnu][ \t]{1,4}[!-~]{1,128})?[ \t]{1,4}-a[ \t]{0,4}["']?"""
    r"""(?P<value>[!#%&(-,.-9:-Z^-z~]{1,256}+)""",
    _FLAGS,
)
_SESSION = Regex(r"""(?:sess(?:ion)?(?:[_-]?id)?|sid)=(?P<value>[\w+/~@!^*%.-]{16,}+={0,2})(?=[\s;&|"',]|$)""", _FLAGS)
_ELEMENT = Regex(
    rf"<(?:{_WORDS}|(?:api|access|secret|private)[_-]?key|token)>(?P<value>[!-%'-;=?-z|~]{{3,512}}+)</", _FLAGS
)
_PGPASS = Regex(r":(?:543\d|6432|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<value>[!-9;-~]{1,256}+)(?=\s|$)", re.ASCII)


def _random_value(match: re.Match[str]) -> bool:
    return looks_random(match["value"])


def _shell_value(match: re.Match[str]) -> bool:
    """Tell a value from a name of code, `config.db2.token3`."""
    value = match["value"]
    is_name = _DOTTED.fullmatch(value) is not None and max(map(turns, value.split("."))) < 3
    return not is_name and looks_random(value)


def _bearer_value(match: re.Match[str]) -> bool:
    """Tell a credential from the prose `Authorization: Bearer authentication`."""
    value = match["value"]
    return len(value) >= 20 or any(c.isdigit() or c.isupper() for c in value)


def _line_value(match: re.Match[str]) -> bool:
    """Tell a value at the end of its line from a word, a type, a name and an expression."""
    value = match["value"].rstrip(",;")
    if not value or value[0] in "$%*&@" or "://" in value or value.startswith(("/", "./", "~/", "!vault")):
        return False
    if _NO_VALUES.search(value) or _DOTTED.fullmatch(value) or (value.count("/") > 1 and value.islower()):
        return False
    if _LONE_NAMES.fullmatch(match["name"]) and not value.isupper():
        return any(not c.isalpha() and c not in "_-.," for c in value) and any(c.isalpha() for c in value)
    if _IDENTIFIER.fullmatch(value) and turns(value) < 3 and len(value) < 24:
        return False
    return looks_random(value)


def _argument_value(match: re.Match[str]) -> bool:
    """Tell a password of a command line from the name of what is to be written there."""
    value = match["value"]
    if value.startswith("id="):  # `--secret id=...` of a build names one
        return False
    return any(not c.isalpha() and c not in "_-.,)" for c in value) and any(c.isalpha() for c in value)


def _login_value(match: re.Match[str]) -> bool:
    user, value = match["user"], match["value"]
    is_group = value == user or value.isdigit() or value.startswith(("/", "$", "{", "<", "%"))
    return not is_group and (len(value) >= MIN_VALUE_CHARS or not value.isalpha())


def _no_address(match: re.Match[str]) -> bool:
    return "://" not in match["value"]


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
    Pattern("authorization", ("bearer", "basic"), _BEARER_ALONE, _random_value),
    Pattern("header_key", (
        "x-api-key", "api-key", "auth-token", "vault-token", "gitlab-token", "private-token", "access-token",
        "csrf-token", "security-token",
    ), _HEADER_KEY, _random_value),
    Pattern("url_password", ("://",), _URL_PASSWORD, reach=_URL_REACH),
    Pattern("url_password", ("://",), _URL_TOKEN, _random_value),
    Pattern("signature", ("sig=", "x-amz-signature=", "x-goog-signature="), _SIGNED),
    Pattern("login", ("basic_auth", "basic-auth"), _BASIC_LOGIN, _no_address),
    Pattern("login", ("auth",), _AUTH_FIELD, _auth_value),
    Pattern("password", ("--",), _OPTION, _argument_value),
    Pattern("password", ("-u", "--user", "--proxy-user"), _LOGIN_OPTION, _login_value),
    Pattern("password", ("sshpass",), _SSHPASS),
    Pattern("password", ("mysql", "mariadb", "-u"), _MYSQL, _argument_value),
    Pattern("password", ("login",), _NETRC, _netrc_value),
    Pattern("password", ("machine",), _NETRC_MACHINE),
    Pattern("password", ("login",), _LOGIN_P, _argument_value),
    Pattern("password", ("redis-cli", "valkey-cli"), _REDIS_CLI),
    Pattern("password", tuple(f"<{name}>" for name in (
        "password", "passwd", "passphrase", "passcode", "psk", "secret", "credential", "credentials", "token",
        "apikey", "api-key", "api_key", "accesskey", "access-key", "secretkey", "secret-key",
        "privatekey", "private-key",
    )), _ELEMENT, _argument_value),
    Pattern("session", ("sess", "sid="), _SESSION, _shell_value),
    Pattern("password", (":543", ":6432:", ":*:"), _PGPASS),
    Pattern("assignment", _NAME_NEEDLES, _ASSIGNED, _random_value, _ASSIGNED_REACH),
    Pattern("assignment", _NAME_NEEDLES, _LINE, _line_value),
    Pattern("assignment", _NAME_NEEDLES, _SHELL, _shell_value),
)  # fmt: skip
"""Every place."""

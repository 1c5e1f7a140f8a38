"""Secrets that are known by the name they are given to: `password: x`, `DB_PASS=x`, `name="token" value="x"`.

A match begins at the name's last word, so `DB_PASSWORD` matches at `PASSWORD`. `environment` knows the same names.
"""

from __future__ import annotations

import re

from neuraphage.redaction.beginnings import beginning
from neuraphage.redaction.patterns import Pattern, Regex, is_made, looks_random, random_value, turns

_FLAGS = re.IGNORECASE | re.ASCII
WORDS = ("password", "passwd", "passphrase", "passcode", "psk", "secret", "credential", "credentials", "token", "auth")
"""Names by themselves and at the end of others."""
KEYS = (
    *("api", "access", "secret", "private", "account", "shared", "encryption", "signing", "master", "auth", "storage"),
    *("application", "app", "subscription"),
)
"""What makes a secret of the word `key` behind it."""
JOINED_WORDS = ("pat", "sk")
"""Names behind `_` or a dash alone."""
SHORT_WORDS = ("pass", "pwd", "pw", "creds", "cred", "jwt", "bearer", "dsn")
"""Names that no letter joins to another word: `bypass` and `compass` are none."""
PASS_OF = (
    *("ssh", "db", "sql", "pg", "user", "usr", "my", "root", "admin", "smtp", "mail", "ftp", "ldap", "bind", "key"),
    *("store", "sudo", "become"),
)
"""Letters that may be joined to `pass` and `pw` all the same."""

_KEY = rf"(?:{'|'.join(KEYS)})[_-]?key"
_WORD = r"pass(?:word|wd|phrase|code)|psk|secret|credentials?|token|auth"
_APART = rf"(?:{beginning('[A-Za-z0-9]')}|(?-i:(?<=[a-z])(?=P))|{'|'.join(f'(?<={word})(?=p)' for word in PASS_OF)})"
_WHICH = r"(?:[_-](?:base|prod|production|staging|live|dev|old|new|primary|secondary|v?\d{1,2})(?![a-z0-9]))?"
"""What parts several of one name: SECRET_KEY_BASE, DB_PASSWORD_PROD, API_KEY_2."""
# The longest names first: `_ASSIGNED_REACH` takes the first one that fits, since nothing behind it has to follow.
NAME = rf"(?:(?:{_KEY}|{_WORD}|[_-](?:{'|'.join(JOINED_WORDS)})|{_APART}(?:{'|'.join(SHORT_WORDS)})){_WHICH})"
"""The end of a name, from its last word that means a secret on."""
NAME_NEEDLES = (
    *(word for word in WORDS if word != "credentials"),
    *(f"{gap}{word}" for gap in "_-" for word in JOINED_WORDS),
    *(f"{word}{gap}key" for gap in ("", "_", "-") for word in KEYS),
    *("pass", "pwd", "cred", "jwt", "bearer", "dsn"),
    *(f"pw{end}" for end in "=: \"'\\,"),  # two letters alone stand in too many texts
)

_PASSWORDS = re.compile(r"pass(?:word|wd|phrase)", _FLAGS)
_SHORT_PASSWORDS = re.compile(r"pass|pwd?", _FLAGS)
_NO_VALUES = re.compile(r"(?:u?int|float|complex|bool|str|bytes?|base|utf|sha|md)\d", _FLAGS)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# In JSON text that stands in JSON text the quotes are escaped.
_QUOTE = r"""\\{0,3}["']"""
_ASSIGNED = Regex(
    rf"""(?P<name>{NAME})(?:{_QUOTE}\]?)?[ \t]{{0,8}}(?::=|=>|[:=])[ \t]{{0,8}}[fbru]?(?P<quote>{_QUOTE})"""
    r"""(?P<value>[^"'\s\\<>{}()\[\]]{8,512})(?P=quote)""",
    _FLAGS,
)
_ASSIGNED_REACH = Regex(
    rf"""{NAME}\\{{0,3}}(?:["']\]?)?[ \t]{{0,8}}"""
    r"""(?:(?::=|=>|[:=])[ \t]{0,8}[fbru]?(?:\\{0,3}["'][^"'\s\\<>{}()\[\]]{0,512}\\{0,3}["']?|\\{1,3})?)?""",
    _FLAGS,
)
# A shell assignment has no spaces. What follows tells it from a keyword argument or an expression. In a URL within a
# URL the sign is escaped, and the value ends at the next such sign: so no run is looked at again.
_SHELL = Regex(
    rf"""{NAME}(?:=|(?P<escaped>%3d))(?P<value>(?:[\w+/~@!^*.-]|%(?(escaped)(?!26|3d))){{8,}}+={{0,2}})(?=[\s;&|"'`#<\\]|%26|%3d|$)""",
    _FLAGS,
)
# In capitals it is a setting of an environment, and no argument.
_SETTING = Regex(
    r"""(?:PASS(?:WORD|WD|PHRASE|CODE)|(?<=[A-Z0-9]_)(?:PASS|PWD?)|(?<=SSH)PASS)="""
    r"""(?P<value>[\w+/~@!^*%.,:?#-]{6,}+={0,2})(?=[\s;&|"'`<\\]|$)""",
    re.ASCII,
)
# `password: x` of YAML and `key = x` of INI, to the end of the line. Code has more behind it, or a type.
_LINE = Regex(
    rf"""(?P<name>{NAME})(?:{_QUOTE})?[ \t]{{0,8}}[:=][ \t]{{1,8}}(?P<value>[!#-&*-;=?-Z^-z|~]{{6,512}}+)"""
    r"""(?=[ \t]{0,8}(?:[\r\n#]|\\[nr]|$))""",
    _FLAGS,
)
# Name and value side by side: an attribute each, a key of JSON each, a line of YAML each.
_PAIR = Regex(
    rf"""(?P<name>{NAME})(?:{_QUOTE},?\s{{0,40}}|\s{{1,40}})(?:{_QUOTE})?value(?:{_QUOTE})?[ \t]{{0,8}}[:=]"""
    rf"""[ \t]{{0,8}}(?P<quote>{_QUOTE}|)(?P<value>[!#-&(-;=?-Z^-~]{{4,512}}+)(?P=quote)""",
    _FLAGS,
)
_BASIC_LOGIN = Regex(
    r"""basic[_-]auth["']?[ \t]{0,8}[:=][ \t]{0,8}\[?[ \t]{0,4}["']?"""
    r"""(?P<value>[\w.@-]{1,64}:[!#-&(-Z^-z|~]{1,256}+)""",
    _FLAGS,
)
_ELEMENT = Regex(
    rf"<(?:{_WORD}|(?:api|access|secret|private)[_-]?key|pass|pwd)>(?P<value>[!-%'-;=?-z|~]{{3,512}}+)</", _FLAGS
)


def shell_value(match: re.Match[str]) -> bool:
    """Tell a value from a name of code, `config.db2.token3`."""
    value = match["value"]
    is_name = _DOTTED.fullmatch(value) is not None and max(map(turns, value.split("."))) < 3
    return not is_name and looks_random(value)


def is_place(value: str) -> bool:
    """Tell a path, an address or a name of code, which only leads to a value."""
    return value[0] in "%/~." or "://" in value or _DOTTED.fullmatch(value) is not None


def _assigned_value(match: re.Match[str]) -> bool:
    """Tell a value in quotes from a word; a password may be nearly one, `hunter22`."""
    value = match["value"]
    if random_value(match):
        return True
    is_made_up = any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and value.isascii()
    is_named = value[0] in "$%{" or is_place(value) or _PASSWORDS.search(value) is not None
    return _names_password(match) and is_made_up and not is_named


def _setting_value(match: re.Match[str]) -> bool:
    value = match["value"]
    return not is_place(value) and is_made(value)


def _line_value(match: re.Match[str]) -> bool:
    """Tell a value at the end of its line from a word, a type, a name and an expression."""
    value = match["value"].rstrip(",;")
    if not value or value[0] in "$%*&@" or "://" in value or value.startswith(("/", "./", "~/", "!vault")):
        return False
    if _NO_VALUES.search(value) or _DOTTED.fullmatch(value) or (value.count("/") > 1 and value.islower()):
        return False
    if _names_password(match) and not value.isupper():
        return is_made(value)
    if _IDENTIFIER.fullmatch(value) and turns(value) < 3 and len(value) < 24:
        return False
    return looks_random(value)


def _pair_value(match: re.Match[str]) -> bool:
    value = match["value"]
    if value[0] in "$%*&@{(" or "://" in value:
        return False
    return looks_random(value) or (_names_password(match) and is_made(value))


def _names_password(match: re.Match[str]) -> bool:
    """Whether the name means a password alone: `DB_PASS` does, `pass` by itself may be what a test did."""
    if _PASSWORDS.fullmatch(match["name"]):
        return True
    before = match.string[max(0, match.start() - 1) : match.start()]
    return _SHORT_PASSWORDS.fullmatch(match["name"]) is not None and (before == "_" or before.isalpha())


def _no_address(match: re.Match[str]) -> bool:
    return "://" not in match["value"]


def _made_value(match: re.Match[str]) -> bool:
    return is_made(match["value"])


ASSIGNMENTS: tuple[Pattern, ...] = (
    Pattern("login", ("basic_auth", "basic-auth"), _BASIC_LOGIN, _no_address),
    Pattern("password", tuple(f"<{name}>" for name in (
        "password", "passwd", "passphrase", "passcode", "pass", "pwd", "psk", "secret", "credential", "credentials",
        "token", "apikey", "api-key", "api_key", "accesskey", "access-key", "secretkey", "secret-key",
        "privatekey", "private-key",
    )), _ELEMENT, _made_value),
    Pattern("assignment", NAME_NEEDLES, _PAIR, _pair_value),
    Pattern("assignment", NAME_NEEDLES, _ASSIGNED, _assigned_value, _ASSIGNED_REACH),
    Pattern("assignment", NAME_NEEDLES, _LINE, _line_value),
    Pattern("assignment", NAME_NEEDLES, _SHELL, shell_value),
    Pattern("assignment", ("passw", "passp", "passc", "pass=", "pwd=", "pw="), _SETTING, _setting_value),
)  # fmt: skip
"""Every way to give a value to a name."""

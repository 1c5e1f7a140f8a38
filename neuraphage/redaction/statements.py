"""Secrets that are known by the statement that gives them: of SQL, of a shell, of a server's settings, of a person.

The rules are those of `contexts`.
"""

from __future__ import annotations

import re

from neuraphage.redaction.assignments import NAME, NAME_NEEDLES, is_place
from neuraphage.redaction.beginnings import BEGINNING
from neuraphage.redaction.patterns import Pattern, Regex, is_made, looks_random, random_value, turns

_FLAGS = re.IGNORECASE | re.ASCII
_GAP = r"[ \t]{1,4}"
_QUOTE = r"""\\{0,3}["']"""
_VALUE = r"""(?P<value>[!#%&(-Z^-z|~][!#-&(-Z^-z|~]{5,255}+)"""

# `put("password", "x")`, `define('DB_PASSWORD', 'x')`: the name is one argument and the value the next.
_CALL = Regex(
    rf"{NAME}(?P<quote>{_QUOTE})[ \t]{{0,4}},[ \t]{{0,4}}(?P=quote)(?P<value>[!#-&(-Z^-z|~]{{8,256}}+)(?P=quote)",
    _FLAGS,
)
_SQL = Regex(
    rf"""(?:password|identified{_GAP}(?:with{_GAP}\w{{1,32}}{_GAP})?(?:by|as))(?:{_GAP}|[ \t]{{0,4}}=[ \t]{{0,4}})"""
    r"""'(?P<value>[!-&(-~]{6,256}+)'""",
    _FLAGS,
)
_SET = Regex(
    rf"""{BEGINNING}(?:set{_GAP}-[a-z]{{1,4}}|setx|setenv|env){_GAP}\w{{0,64}}?{NAME}{_GAP}["']?{_VALUE}""", _FLAGS
)
_REDIS = Regex(rf"""{BEGINNING}(?:requirepass|masterauth){_GAP}["']?{_VALUE}""", _FLAGS)
_REDIS_USER = Regex(r"on >(?P<value>[!#-~]{8,256}+)", _FLAGS)
_POWERSHELL = Regex(rf"""convertto-securestring{_GAP}(?:-string{_GAP})?["']{_VALUE}""", _FLAGS)
_ORACLE = Regex(
    rf"""(?:oracle:(?:thin|oci8?):|{BEGINNING}sqlplus{_GAP}(?:-[a-z]{{1,4}}{_GAP})?)\w{{1,64}}/(?P<value>[!-.0-?A-~]{{1,128}}+)@""",
    _FLAGS,
)
_SAID = Regex(rf"""(?:password|passphrase|passcode|token|secret|api key){_GAP}(?:is|was){_GAP}["'`]?{_VALUE}""", _FLAGS)
# Words of a list, as people are told to take them: without a gap behind the name six of them.
_WORDS = Regex(
    rf"""passphrase(?:{_QUOTE})?(?:[=:](?={_QUOTE})|[ \t]{{0,2}}[=:][ \t]{{0,2}}"""
    rf"""(?={_QUOTE}\w+(?: \w+){{2,3}}\\{{0,3}}["']))"""
    rf"""(?P<quote>{_QUOTE})(?P<value>[a-z]{{3,12}}(?: [a-z]{{3,12}}){{2,4}})(?P=quote)""",
    re.ASCII | re.IGNORECASE,
)
_PROSE = re.compile(
    r"\b(?:pass\w*|your?|the|a|an|enter|please|is|are|for|of|to|no|not|must|here|again)\b", re.IGNORECASE
)
_HASH = Regex(
    r"\$(?:(?:apr1|1)\$[\w./]{1,8}\$[\w./]{22}|5\$(?:rounds=\d{1,9}\$)?[\w./]{1,16}\$[\w./]{43}"
    r"|6\$(?:rounds=\d{1,9}\$)?[\w./]{1,16}\$[\w./]{86}|2[abxy]\$\d\d\$[\w./]{53}|y\$[\w./]{1,8}\$[\w./]{1,86}\$[\w./]{43}"
    r"|argon2(?:id|i|d)\$[\w=,$]{1,64}\$[\w+/]{11,64}\$[\w+/]{16,128})(?![\w./])",
    re.ASCII,
)


def _call_value(match: re.Match[str]) -> bool:
    return not is_place(match["value"]) and random_value(match)


def _made_value(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(",;")
    return not is_place(value) and value[0] not in "$%" and is_made(value)


def _said_value(match: re.Match[str]) -> bool:
    """Tell a secret from a word of prose, which may have a number in it: `SHA256-hashed`."""
    value = match["value"].rstrip(".,;:!?)\"'`")
    has_sign = any(not c.isalnum() and c not in "_-./()'" for c in value)
    return looks_random(value) and (has_sign or turns(value) >= 3)


def _no_prose(match: re.Match[str]) -> bool:
    return _PROSE.search(match["value"]) is None


STATEMENTS: tuple[Pattern, ...] = (
    Pattern("password_hash", (
        "$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2x$", "$2y$", "$apr1$", "$argon2",
    ), _HASH),
    Pattern("password", ("passphrase",), _WORDS, _no_prose),
    Pattern("password", ("password", "identified"), _SQL, _made_value),
    Pattern("password", ("set -", "setx", "setenv", "env "), _SET, _made_value),
    Pattern("password", ("requirepass", "masterauth"), _REDIS, _made_value),
    Pattern("password", ("on >",), _REDIS_USER, random_value),
    Pattern("password", ("convertto-securestring",), _POWERSHELL, _made_value),
    Pattern("password", ("oracle:thin:", "oracle:oci", "sqlplus"), _ORACLE),
    Pattern("password", ("password", "passphrase", "passcode", "token", "secret", "api key"), _SAID, _said_value),
    Pattern("assignment", NAME_NEEDLES, _CALL, _call_value),
)  # fmt: skip
"""Every statement."""

"""Secrets that are known by the program or the option they are given to. See `contexts` for the rules."""

from __future__ import annotations

import re

from neuraphage.redaction.beginnings import BEGINNING, beginning
from neuraphage.redaction.patterns import MIN_VALUE_CHARS, Pattern, Regex, is_made, random_value

_FLAGS = re.IGNORECASE | re.ASCII
_GAP = r"[ \t]{1,4}"
_OTHERS = rf"(?:{_GAP}[!-~]{{1,128}}){{0,3}}?"
"""Other arguments. With the program, the option and the value no more words than PATTERN_WORDS_MAX."""
_OPTION_BEGINNING = beginning(r"[\w-]")
_TAKEN = r"""["']?(?P<value>[!#%&(-,.-;=?-Z^-z~][!#-&(-Z^-z~]{0,255}+)"""
"""What follows an option that takes a password and nothing else."""
_ARGUMENT = r"""["']?(?P<value>[!#%&(-,.-;?-Z^-z~][!#-&(-Z^-z~]{3,255}+)"""

_OPTION = Regex(
    r"--(?:\w{1,20}-){0,3}(?:password|passwd|passphrase|secret|token|(?:api|access|secret)-key|pass)[ \t=]" + _ARGUMENT,
    _FLAGS,
)
# One dash, as Java and others have it.
_LONG_OPTION = Regex(
    rf"{_OPTION_BEGINNING}-(?:(?:src|dest|new)?(?:store|key)pass|password|passphrase|pw)[ \t=]{{1,2}}{_ARGUMENT}",
    _FLAGS,
)
_LOGIN_OPTION = Regex(
    rf"""{_OPTION_BEGINNING}(?:-u|--user|--proxy-user|-U|--(?:basic-|http-|proxy-)?auth)[ \t=]{{0,2}}["']?"""
    r"""(?P<user>[\w.@-]{1,64}):(?P<value>[!#-&(-Z^-z~]{1,256}+)""",
    re.ASCII,
)
_AUTH_OPTION = Regex(rf"{_OPTION_BEGINNING}--(?:[a-z]{{1,12}}-)?auth[ \t=]" + _ARGUMENT, _FLAGS)
_HTTPIE = Regex(
    rf"""{BEGINNING}https?(?:{_GAP}-[!-~]{{1,64}}){{0,1}}{_GAP}-a{_GAP}["']?(?P<user>[\w.@-]{{1,64}}):(?P<value>[!#-&(-Z^-z~]{{1,256}}+)""",
    re.ASCII,
)
_SAMBA_LOGIN = Regex(
    rf"""{_OPTION_BEGINNING}(?:-U|--user)[ \t=]{{0,2}}["']?[\w.@/\\-]{{1,64}}%(?P<value>[!#-&(-Z^-z~]{{1,256}}+)""",
    re.ASCII,
)
_SQL_SERVER = Regex(rf"""-U[ \t]{{0,2}}[\w.\\-]{{1,64}}{_GAP}-P[ \t]{{0,4}}{_TAKEN}""", re.ASCII)
_SSHPASS = Regex(r"""sshpass[ \t]{1,4}-p[ \t]{0,4}["']?(?P<value>[!#%&(-Z^-z~]{1,256}+)""", _FLAGS)
_MYSQL = Regex(
    rf"""(?:{BEGINNING}(?:mysql|mariadb)(?:-?\w{{1,12}})?|{_OPTION_BEGINNING}-u[ \t]{{0,2}}\w{{1,32}})"""
    r"""(?:[ \t]{1,4}-[!-~]{1,64}){0,1}[ \t]{1,4}-p["']?(?P<value>[!#%&(-,.-9:-Z^-z~]{3,128}+)""",
    _FLAGS,
)
_LOGIN_P = Regex(
    rf"""{BEGINNING}login(?:{_GAP}--[a-z-]{{1,32}}|{_GAP}[\w.][\w.:/-]{{0,127}})?"""
    rf"""(?:[ \t]{{1,4}}-u[ \t]{{1,4}}[\w.@-]{{1,64}})?"""
    r"""[ \t]{1,4}-p[ \t]{1,4}["']?(?P<value>[!#%&(-,.-9:-Z^-z~]{3,128}+)""",
    _FLAGS,
)
_REDIS_CLI = Regex(
    rf"""{BEGINNING}(?:redis|valkey)-cli(?:[ \t]{{1,4}}-[hpnu][ \t]{{1,4}}[!-~]{{1,128}})?[ \t]{{1,4}}-a"""
    r"""[ \t]{0,4}["']?(?P<value>[!#%&(-,.-9:-Z^-z~]{1,256}+)""",
    _FLAGS,
)
_OPENSSL = Regex(rf"{_OPTION_BEGINNING}-{{1,2}}pass(?:in|out)?[ \t=]{{1,4}}[\"']?pass:{_TAKEN}", _FLAGS)
_ZIP = Regex(rf"{BEGINNING}(?:un)?zip{_OTHERS}{_GAP}-[a-z]{{0,6}}P[ \t]{{0,4}}{_TAKEN}", re.ASCII)
_SEVEN_ZIP = Regex(rf"{BEGINNING}(?:7z[arz]?|(?:un)?rar){_OTHERS}{_GAP}-h?p{_TAKEN}", re.ASCII)
_MONGO = Regex(
    rf"{BEGINNING}mongo(?:sh|dump|restore|export|import|stat|top|files)?{_OTHERS}{_GAP}-p[ \t]{{0,4}}{_TAKEN}",
    re.ASCII,
)
_LDAP = Regex(rf"{BEGINNING}ldap[a-z]{{3,8}}{_OTHERS}{_GAP}-w[ \t]{{0,4}}{_TAKEN}", re.ASCII)
# The tools of LDAP take many options: who binds stands next to the password.
_LDAP_BIND = Regex(
    rf"""-D[ \t]{{0,4}}["']?[A-Za-z]{{1,16}}=[!#-&(-~]{{1,256}}["']?{_GAP}-w[ \t]{{0,4}}{_TAKEN}""", re.ASCII
)
_HTPASSWD = Regex(
    rf"""htpasswd(?:{_GAP}-[A-Za-z]{{1,8}})?(?:{_GAP}-(?=[A-Za-z]{{0,8}}b)(?:(?=[A-Za-z]{{0,8}}n)[A-Za-z]{{1,8}}|"""
    rf"""[A-Za-z]{{1,8}}{_GAP}[!-~]{{1,256}}))[ \t]{{1,4}}[!-~]{{1,64}}{_GAP}{_TAKEN}""",
    re.ASCII,
)


def _argument_value(match: re.Match[str]) -> bool:
    """Tell a password of a command line from the name of what is to be written there."""
    return not match["value"].startswith("id=") and is_made(match["value"])  # `--secret id=...` of a build names one


def _login_value(match: re.Match[str]) -> bool:
    user, value = match["user"], match["value"]
    is_group = value == user or value.isdigit() or value.startswith(("/", "$", "{", "<", "%"))
    return not is_group and (len(value) >= MIN_VALUE_CHARS or not value.isalpha())


def _samba_value(match: re.Match[str]) -> bool:
    """Tell a password from a user of a URL, `me%40example.org:password`."""
    value = match["value"]
    return not (":" in value and re.match("[0-9A-Fa-f]{2}", value))


def _no_number(match: re.Match[str]) -> bool:
    return not match["value"].isdigit()


COMMAND_LINES: tuple[Pattern, ...] = (
    Pattern("password", ("--",), _OPTION, _argument_value),
    Pattern("password", (
        "-storepass", "-keypass", "-srcstorepass", "-srckeypass", "-deststorepass", "-destkeypass", "-newstorepass",
        "-newkeypass", "-password", "-passphrase", "-pw ", "-pw=",
    ), _LONG_OPTION, _argument_value),
    Pattern("password", (
        "-u", "--user", "--proxy-user", "--auth", "--basic-auth", "--http-auth", "--proxy-auth",
    ), _LOGIN_OPTION, _login_value),
    Pattern("password", ("--",), _AUTH_OPTION, random_value),
    Pattern("password", ("http ", "https "), _HTTPIE, _login_value),
    Pattern("password", ("-u", "--user"), _SAMBA_LOGIN, _samba_value),
    Pattern("password", ("-u",), _SQL_SERVER),
    Pattern("password", ("sshpass",), _SSHPASS),
    Pattern("password", ("mysql", "mariadb", "-u"), _MYSQL, _argument_value),
    Pattern("password", ("login",), _LOGIN_P, _argument_value),
    Pattern("password", ("redis-cli", "valkey-cli"), _REDIS_CLI),
    Pattern("password", ("-pass", "--pass"), _OPENSSL),
    Pattern("password", ("zip", "unzip"), _ZIP),
    Pattern("password", ("7z ", "7za", "7zr", "7zz", "rar ", "unrar "), _SEVEN_ZIP),
    Pattern("password", ("mongo",), _MONGO, _no_number),
    Pattern("password", ("ldap",), _LDAP),
    Pattern("password", ("-d ", '-d"', "-d'", "-dcn=", "-duid="), _LDAP_BIND),
    Pattern("password", ("htpasswd",), _HTPASSWD),
)  # fmt: skip
"""Every command line."""

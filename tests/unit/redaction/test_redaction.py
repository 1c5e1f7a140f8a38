"""Redaction: what goes, what stays, that twice is once, and that no text makes it slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.redaction.environment import secrets_in
from neuraphage.redaction.patterns import Pattern, looks_random
from neuraphage.redaction.redactor import MAX_DEPTH, Redactor

# Built at run time, so that no scanner takes this file for a leak.
ANT = "sk-" + "ant-api03-" + "Zx9" * 12
OPENAI = "sk-" + "proj-Ab3" + "dE5f" * 8
GITHUB = "gh" + "p_" + "a1B2c3D4e5F6" * 3
PAT = "github" + "_pat_" + "11ABCDEFG0" * 4
AWS = "AK" + "IAIOSFODNN7EXAMPLE"
GOOGLE = "AI" + "zaSy" + "a1B2c3D4e" * 4
SLACK = "xo" + "xb-123456789012-abcdefABCDEF"
GITLAB = "gl" + "pat-" + "a1B2c3D4e5F6g7H8i9J0"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + "s5Kd0tGfL3pQm8RzXw2Y"
PEM = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq+/9Zk\n" * 5 + "-----END " + "RSA PRIVATE KEY-----"
CUT_PEM = PEM[: PEM.index("-----END")]
SECRET = "correct horse+battery"

TOKENS = [ANT, OPENAI, GITHUB, PAT, AWS, GOOGLE, SLACK, GITLAB, JWT, PEM]


@pytest.mark.parametrize("secret", TOKENS, ids=lambda s: s[:8])
@pytest.mark.parametrize("around", ["{}", "the key is {}.", "('{}')", "a={}\nb", "\u0130 {}", "[{}]", "/{}/"])
def test_known_shapes_are_cut_out(secret: str, around: str) -> None:
    """Every known kind of key goes, whatever stands around it, and what stands around it stays."""
    redacted = Redactor().text(around.format(secret))
    assert secret not in redacted
    assert re.sub(r"\[redacted:[a-z_]+\]", "{}", redacted) == around


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc123DEF456ghi", "abc123DEF456ghi"),
        ('{"authorization": "bearer 0123456789abcdefabcd"}', "0123456789abcdefabcd"),
        ("x-api-key: 9f8e7d6c5b4a", "9f8e7d6c5b4a"),
        ("redis://:pa55w0rd@127.0.0.1:6379/0", "pa55w0rd"),
        ("postgresql+psycopg://app:swordfish@db/app", "swordfish"),
        ("unix://:hidden@/run/x.sock?db=1", "hidden"),
        ("://:x@", "x"),
        ("postgres://用户:密码@host", "密码"),
        ('DB_PASSWORD = "hunter2hunter2"', "hunter2hunter2"),
        ("api_key: 'q8w7e6r5t4'", "q8w7e6r5t4"),
        ('{"client_secret": "P9o8I7u6!"}', "P9o8I7u6!"),
        ("export MY_TOKEN=a1b2c3d4e5f6 && run", "a1b2c3d4e5f6"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
        ("SECRET='Tr0ub4dor&3'", "Tr0ub4dor&3"),
        (CUT_PEM, "MIIEpAIBAAKCAQEA7bq"),
        (PEM.replace("\n", "\\n"), "MIIEpAIBAAKCAQEA7bq"),
    ],
)
def test_values_in_their_places_are_cut_out(text: str, secret: str) -> None:
    """Headers, URLs and assignments lose their value and keep the rest."""
    redacted = Redactor().text(text)
    assert secret not in redacted
    assert "[redacted:" in redacted


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "token = get_token()",
        "run(token=self.token2.value, password=password1)",
        "token = tokens[0]",
        'token = "access_token"',
        'token = "access_token_v2"',
        'secret_name = "my-service-secret"',
        'api_key: "${API_KEY}"',
        'password="<your-password-1>"',
        'password = "http://localhost:8080/v1"',
        'f"redis://:{password}@{host}:{port}/0"',
        "redis://:${REDIS_PASSWORD}@cache:6379/0",
        "postgres://%s:%s@host/db",
        "https://example.org:8080/a@b",
        "git@github.com:owner/repo.git",
        "task-0190f3c1-7b3a-7c11-8a55-1234567890ab",
        "sk-learn-something-with-a-very-long-dashed-name",
        "the Authorization: Bearer authentication scheme",
        "max_tokens=16384, tokens=128000",
        "-----BEGIN PRIVATE KEY----- opens such a file",
        "def reset_password(token: str) -> None: ...",
        "monkey=banana; keyboard=azerty",
        "eyJust a word",
    ],
)
def test_ordinary_code_stays(text: str) -> None:
    """Code and prose about secrets hold none, and are returned as the same object."""
    assert Redactor().text(text) is text


def test_known_values_go_in_every_spelling() -> None:
    """A value this process knows goes plain, in JSON's spelling and in a URL's."""
    redactor = Redactor(secrets=['pass"word\nline', SECRET])
    for text in ('x pass"word\nline y', 'x pass\\"word\\nline y', "x pass%22word%0Aline y", f"x {SECRET} y"):
        assert redactor.text(text) == "x [redacted:secret] y"


def test_the_longest_known_value_goes_first() -> None:
    """A secret that holds another one leaves no rest behind."""
    assert Redactor(secrets=["abcdefgh", "abcdefgh-and-more"]).text("<abcdefgh-and-more>") == "<[redacted:secret]>"


def test_short_known_values_are_ignored() -> None:
    """An empty or short value would blot out ordinary words."""
    assert Redactor(secrets=["", "yes", "true"]).text("yes, it is true for long") == "yes, it is true for long"


def test_repr_shows_no_secret() -> None:
    """A redactor in a traceback or a log line tells nothing."""
    assert SECRET not in repr(Redactor(secrets=[SECRET]))


def test_json_is_walked() -> None:
    """Strings and keys at every depth are redacted; other values keep their type."""
    redacted = Redactor().json({"a": [1, None, True, {"b": f"x {ANT}"}], GITHUB: 2.5, "t": ("y", AWS)})
    assert redacted == {
        "a": [1, None, True, {"b": "x [redacted:api_key]"}],
        "[redacted:github_token]": 2.5,
        "t": ("y", "[redacted:aws_key_id]"),
    }


def test_json_too_deep_is_cut_not_stored_unread() -> None:
    """Nesting past the limit neither overflows the stack nor carries a secret through."""
    value: object = ANT
    for _ in range(MAX_DEPTH * 20):
        value = [value]
    assert ANT not in str(Redactor().json(value))
    assert "[redacted:too_deep]" in str(Redactor().json(value))


def test_thinking_stays_verbatim_or_goes_whole() -> None:
    """The signature covers the thinking text, so a block is never changed in part."""
    clean = {"type": "thinking", "thinking": "token = get_token()", "signature": f"Eq/{AWS}"}
    hidden = {"type": "redacted_thinking", "data": f"Eo/{AWS}"}
    leaky = {"type": "thinking", "thinking": f"use {ANT}", "signature": "Eq"}
    known = {"type": "redacted_thinking", "data": f"Eo{SECRET}"}
    note = {"type": "text", "text": "[redacted:thinking]"}
    assert Redactor(secrets=[SECRET]).json([clean, hidden, leaky, known]) == [clean, hidden, note, note]


def test_what_only_looks_like_thinking_is_read() -> None:
    """Parameters that the model wrote may have any shape; no shape of theirs hides a secret."""
    look_alike = {"type": "thinking", "signature": ANT, "note": ANT, "deep": {"data": SECRET}}
    call = {"type": "tool_use", "id": "t1", "name": "act", "input": {"o": look_alike, "l": [look_alike]}}
    odd = {"type": "redacted_thinking", "data": {"key": ANT}, "more": [f"x {SECRET}"]}
    for value in ([call], {"evidence": look_alike}, [odd]):
        redacted = str(Redactor(secrets=[SECRET]).json(value))
        assert ANT not in redacted
        assert SECRET not in redacted


PIECES = st.one_of(
    st.sampled_from(
        [
            *TOKENS,
            *(CUT_PEM, SECRET, "xyzxyz12", "redacted", "redacted:", "[redacted:", "]abcdef1", "[redacted:secret]"),
            *(
                "password",
                "token",
                "api_key",
                "=",
                ":",
                '"',
                "'",
                "://",
                "@",
                "-",
                "_",
                ".",
                "/",
                " ",
                "\n",
                "sk-",
                "eyJ",
            ),
            *(
                "Authorization: Bearer ",
                "x-api-key: ",
                "hunter2hunter2",
                "Abc123xyz",
                "password: ",
                "login a password ",
                "-u a:",
                " --token ",
                "_sk=",
                "_auth=",
                "basic_auth=a:",
                ":*:a:b:",
                "SG." + "a1B2" * 5 + ".",
                *("\\n", '\\"', "%22", "%3d", "\\u0026", "\x1b[31m", "pass=", "_PASS=", "pw: ", "&key=", "@tcp("),
                *("passphrase='", "correct horse battery", ' is "', "env ", "set -x ", "', '", "by '", "$1$a$"),
                *("requirepass ", "on >", " --auth ", "response=", "signature=", "oracle:thin:a/", "_base", "']", "_2"),
                *(' value="', "zip -P ", "7z a -p", "-U a%", "-pass pass:", "-D cn=a -w ", "htpasswd -nb a "),
                "-----BEGIN ",
                "PRIVATE KEY-----",
            ),
        ]
    ),
    st.text(max_size=6),
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_twice_is_once(text: str) -> None:
    """Redacting what is redacted changes nothing, and no known value is left."""
    redactor = Redactor(secrets=[SECRET, "xyzxyz12", "redacted", "[redacted:", "]abcdef1"])
    once = redactor.text(text)
    assert redactor.text(once) == once
    for piece in re.split(r"\[redacted:[a-z_]+\]", once):
        assert SECRET not in piece
        assert "xyzxyz12" not in piece


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "sk-",
            "sk-a",
            "-sk-",
            "eyJ-",
            "eyJaaaaaaaa.",
            "token=",
            'token="',
            "token=a1",
            "://",
            "://a:",
            "://:@",
            " ",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n" + "A" * 64,
            "authorization: ",
            "bearer ",
            "gh",
        ),
        *("authorization:bearer ", "ghp_-", "password ", "[redacted:", "[redacted:a]", "AKIA-", "xoxb-", "-----BEGIN "),
    ],
)
def test_no_text_makes_it_slow(unit: str) -> None:
    """A megabyte of the start of any pattern ends within the time limit; a quadratic scan would take hours."""
    Redactor(secrets=[SECRET]).text(unit * (1_000_000 // len(unit)) + "!")


def test_patterns_say_what_is_wrong_with_them() -> None:
    """A kind that would not be recognised as a placeholder, or a needle that never matches, is refused."""
    with pytest.raises(ValueError, match="kind of a pattern"):
        Pattern("My Kind", ("x",), re.compile("x"))
    with pytest.raises(ValueError, match="needles of pattern"):
        Pattern("kind", ("X",), re.compile("X"))


@pytest.mark.parametrize(
    ("value", "random"),
    [("Abc12345", True), ("a1b2c3d4", True), ("hunter22", False), ("Abc1234", False), ("password", False)],
)
def test_looks_random(value: str, random: bool) -> None:
    """Generated values are told from words, by length and mixture."""
    assert looks_random(value) is random


def test_secrets_of_an_environment() -> None:
    """Values count by their variable's name or as a URL's password; everyday values do not."""
    environ = {
        "ANTHROPIC_API_KEY": "the-anthropic-key",
        "PGPASSWORD": "pg-password-1",
        "GITHUB_TOKEN": " gh-token-value\n",
        "STATE_URL": "redis://:pw%2Fword1@h:1/0",
        "SHORT_TOKEN": "abc",
        "KEY_FILE": "/etc/ssl/private/key.pem",
        "GOOGLE_APPLICATION_CREDENTIALS": "~/keys/gcp.json",
        "AUTH_TOKEN": "disabled",
        "SECRET_URL": "https://example.org/x",
        "MONKEY": "not-secret-at-all",
        "TOKENIZERS_PARALLELISM": "not-secret-either",
        "AWS_SECRET_ACCESS_KEY": "/wJalrXUtnFEMI/K7",
        "AZURE_PAT": "azure-pat-value",
        "PAYMENT_SK": "payment-sk-value",
        "FLOWER_BASIC_AUTH": "admin:flower-pw-1,me:flower-pw-2",
        "GPG_PASSPHRASE": "correct horse",
        "SMTP_PASS": "smtp-pass-value",
        "MYSQL_PWD": "mysql-pwd-value",
        "PWD": "/nowhere/known",
        "OLDPWD": "/nowhere/else",
        "SSH_AUTH_SOCK": "/tmp/ssh-agent/sock",
        "AUTH_MODE": "not-a-secret",
        "COMPASS": "not-a-pass",
        "PATH": "/usr/bin:/bin",
    }
    assert secrets_in(environ) == {
        "the-anthropic-key",
        "pg-password-1",
        "gh-token-value",
        "pw%2Fword1",
        "pw/word1",
        "/wJalrXUtnFEMI/K7",
        "azure-pat-value",
        "payment-sk-value",
        "admin:flower-pw-1,me:flower-pw-2",
        "flower-pw-1",
        "flower-pw-2",
        "correct horse",
        "smtp-pass-value",
        "mysql-pwd-value",
    }

"""Cut secrets out of text and JSON before anything is stored, shown or logged. Pure; linear in the text.

A secret is a value this process knows (from its environment, see `secrets_in`) or a text that looks like a
known kind of key (`redaction_patterns`). The replacement is `[redacted:<kind>]`; redacting twice changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

from neuraphage.decide.redaction_borders import foreign_border, pattern_spans, value_spans
from neuraphage.decide.redaction_patterns import (
    DEFAULT_PATTERNS,
    MIN_MATCH_CHARS,
    MIN_VALUE_CHARS,
    PATTERN_WORDS_MAX,
    Pattern,
)
from neuraphage.decide.redaction_pem import key_spans, private_keys

MAX_DEPTH = 200
"""Deepest JSON that is walked; what lies deeper is cut out whole rather than stored unread."""

_PLACEHOLDER = re.compile(r"(\[redacted:[a-z_]{1,40}\])")
# Words as every pattern sees them: some take only ASCII white space for a gap.
_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_THINKING_NOTE = "[redacted:thinking]"
_THINKING_TYPES = ("thinking", "redacted_thinking")
_ENCRYPTED = frozenset({"signature", "data"})

Spans = Iterator[tuple[int, int, str]]


class Redactor:
    """Replaces secrets in text and in JSON values.

    Args:
        patterns: shapes to look for.
        secrets: values to look for, also as JSON or a URL would spell them. Values under 8 characters are
            ignored: they would blot out ordinary words.
    """

    def __init__(self, patterns: Collection[Pattern] = DEFAULT_PATTERNS, secrets: Collection[str] = ()) -> None:
        self._patterns = tuple(patterns)
        spellings = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))}
        usable = (form for form in spellings if len(form) >= MIN_VALUE_CHARS)
        # Longest first: a secret that holds another one must go as a whole.
        self._secrets = tuple(sorted(usable, key=lambda form: (-len(form), form)))
        self._foreign = tuple(form for form in self._secrets if not form.isascii())
        self._span_words = max([PATTERN_WORDS_MAX, *(len(secret.split()) for secret in self._secrets)])

    def __repr__(self) -> str:
        return f"Redactor({len(self._patterns)} patterns, {len(self._secrets)} secrets)"

    def text(self, text: str) -> str:
        """Replace every secret in a text.

        Returns:
            The text with `[redacted:<kind>]` in place of each secret; the same object when it holds none.
        """
        if len(text) < MIN_MATCH_CHARS:
            return text
        if "-----BEGIN " in text:
            text = _replace(text, private_keys)
        text = self._known_values(text)
        folded = _fold(text)
        for pattern in self._patterns:
            for needle in pattern.needles:
                if needle in folded:
                    changed = _replace(text, partial(_matches, pattern, needle))
                    if changed is not text:
                        text, folded = changed, _fold(changed)
        return text

    def settled_chars(self, text: str) -> int:
        """Tell how much of a text that still grows can be redacted by itself (for pieces that are shown at once).

        Returns:
            A length: whatever is added, redacting the text before it and after it apart is redacting the whole.
        """
        keys = list(key_spans(text))
        open_key = keys[-1][0] if keys and keys[-1][1] is None else len(text)
        starts = [word.start() for word in _WORD.finditer(text)]
        words = min(starts[-self._span_words], open_key) if len(starts) > self._span_words else 0
        foreign = 0
        if not text.isascii():
            values = value_spans(text, self._foreign)
            foreign = foreign_border(text, [*keys, *values, *pattern_spans(text, _fold(text), self._patterns)])
        for length in sorted((words, foreign), reverse=True):
            if self.text(text[:length]) + self.text(text[length:]) == self.text(text):
                return length
        return 0  # a secret lies across the cut; a little more text moves the cut past it

    def json(self, value: Any) -> Any:
        """Replace every secret in a JSON value, keys included.

        Thinking blocks go back to the model verbatim or not at all, for the model's signature covers them: one that
        holds a secret is replaced whole by a text block that says so. They stand directly in a list of blocks; what
        only looks like one further down (in what the model wrote as parameters) is as readable as all else.

        Returns:
            A new value of the same shape.
        """
        if isinstance(value, list):
            return [self._thinking(item) if _is_thinking(item) else self._walk(item, MAX_DEPTH - 1) for item in value]
        return self._walk(value, MAX_DEPTH)

    def _walk(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth == 0:
            return "[redacted:too_deep]"
        if isinstance(value, dict):
            return {self._walk(key, depth): self._walk(item, depth - 1) for key, item in value.items()}
        return type(value)([self._walk(item, depth - 1) for item in value])

    def _thinking(self, block: dict[str, Any]) -> dict[str, Any]:
        """Check what the model wrote for every kind of secret, what the provider encrypted for known values only."""
        readable = {name: part for name, part in block.items() if name not in _ENCRYPTED or not isinstance(part, str)}
        encrypted = [part for name, part in block.items() if name not in readable]
        clean = self._walk(readable, MAX_DEPTH) == readable and all(self._known_values(e) == e for e in encrypted)
        return block if clean else {"type": "text", "text": _THINKING_NOTE}

    def _known_values(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = _replace(text, partial(_occurrences, secret))
        return text


def _is_thinking(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in _THINKING_TYPES


def _fold(text: str) -> str:
    """Lower-case without moving positions: the dotted capital I alone would become two characters."""
    return text.replace("\u0130", "I").lower()


def _replace(text: str, find: Callable[[str], Spans]) -> str:
    """Replace the spans that `find` sees in the pieces between placeholders, which it never sees."""
    if "[redacted:" not in text:
        return _cut(text, find(text))
    parts = _PLACEHOLDER.split(text)
    parts[::2] = [_cut(part, find(part)) for part in parts[::2]]
    joined = "".join(parts)
    return text if joined == text else joined


def _cut(text: str, spans: Spans) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += (text[done:start], f"[redacted:{kind}]")
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _matches(pattern: Pattern, needle: str, text: str) -> Spans:
    folded = _fold(text)
    group = "value" if "value" in pattern.regex.groupindex else 0
    at = folded.find(needle)
    while at != -1:
        match = pattern.regex.match(text, at)
        if match and pattern.accept(match):
            yield (*match.span(group), pattern.kind)
            at = folded.find(needle, match.end())
        else:
            at = folded.find(needle, at + 1)


def _occurrences(secret: str, text: str) -> Spans:
    at = text.find(secret)
    while at != -1:
        yield at, at + len(secret), "secret"
        at = text.find(secret, at + len(secret))


# --- secrets of the environment ------------------------------------------------------------------------

_SECRET_WORDS = frozenset({"KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS"})
_SECRET_ENDINGS = ("TOKEN", "SECRET", "PASSWORD", "PASSWORDS", "PASSWD", "APIKEY", "CREDENTIAL")
_TRIVIAL = frozenset(
    {
        "localhost",
        "127.0.0.1",
        "disabled",
        "enabled",
        "required",
        "optional",
        "password",
        "changeme",
        "default",
        "undefined",
    }
)
_PATH = re.compile(
    r"(?:~|\.{1,2})/|[A-Za-z]:\\|/(?:Applications|Library|Users|Volumes|app|bin|data|dev|etc|home|lib|mnt|opt|private"
    r"|proc|root|run|srv|sys|tmp|usr|var|work|workspace)(?:/|$)"
)
_URL_USERINFO = re.compile(r"://[^\s/:@]{0,128}:([^\s/@]{8,256})@")


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """Pick the values of an environment that are secret.

    A variable counts by its name (a word KEY, TOKEN, SECRET or CREDENTIALS, an ending such as PASSWORD or APIKEY); of
    any other variable only the password inside a URL counts.

    Args:
        environ: names and values.

    Returns:
        Values of 8 characters and more, without everyday ones (`localhost`, `disabled`, paths).
    """
    found: set[str] = set()
    for name, value in environ.items():
        found.update(form for raw in _URL_USERINFO.findall(value) for form in (raw, unquote(raw)))
        if _names_secret(name.upper()) and "://" not in value:
            found.add(value.strip())
    return frozenset(value for value in found if len(value) >= MIN_VALUE_CHARS and not _is_trivial(value))


def _names_secret(name: str) -> bool:
    return name.endswith(_SECRET_ENDINGS) or not _SECRET_WORDS.isdisjoint(name.split("_"))


def _is_trivial(value: str) -> bool:
    return value.lower() in _TRIVIAL or _PATH.match(value) is not None

"""Cut secrets out of text and JSON before anything is stored, shown or logged. Pure; linear in the text.

A secret is a value this process knows (from its environment, see `environment`) or a text that looks like a
known kind of key (`patterns`). The replacement is `[redacted:<kind>]`; redacting twice changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

from neuraphage.redaction.borders import foreign_border, pattern_spans, value_spans
from neuraphage.redaction.contexts import CONTEXTS
from neuraphage.redaction.needles import Needles
from neuraphage.redaction.patterns import MIN_MATCH_CHARS, MIN_VALUE_CHARS, PATTERN_WORDS_MAX, Pattern
from neuraphage.redaction.pem import key_spans, private_keys
from neuraphage.redaction.tokens import TOKENS

DEFAULT_PATTERNS: tuple[Pattern, ...] = (*TOKENS, *CONTEXTS)
"""Every shape but private keys, which are cut out first because they span lines."""
MAX_PASSES = 3
"""What is cut out may make a border for what is left; so the text is looked at again, so often at most."""
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
        # In the order in which they are tried. Most texts hold a needle, and no text holds many of them.
        self._tries = tuple((pattern, needle) for pattern in self._patterns for needle in pattern.needles)
        self._tries_of: dict[str, list[int]] = {}
        for index, (_, needle) in enumerate(self._tries):
            self._tries_of.setdefault(needle, []).append(index)
        self._needles = Needles(self._tries_of)
        spellings = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))}
        usable = (form for form in spellings if len(form) >= MIN_VALUE_CHARS)
        # Longest first: a secret that holds another one must go as a whole.
        self._secrets = tuple(sorted(usable, key=lambda form: (-len(form), form)))
        self._foreign = tuple(form for form in self._secrets if not form.isascii())
        # A value of several words may end a shape that stands before it in another place than it seemed to end.
        self._span_words = PATTERN_WORDS_MAX - 1 + max([1, *(len(secret.split()) for secret in self._secrets)])

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
        for _ in range(MAX_PASSES):
            changed = self._shapes(text)
            if changed is text:
                break
            text = changed
        return text

    def _shapes(self, text: str) -> str:
        ahead = self._tries_in(text)
        while ahead:
            index = ahead.pop()
            pattern, needle = self._tries[index]
            changed = _replace(text, partial(_matches, pattern, needle))
            if changed is not text:
                text = changed
                ahead = [later for later in self._tries_in(text) if later > index]
        return text

    def _tries_in(self, text: str) -> list[int]:
        """What to try on a text, the first one last."""
        there = self._needles.found_in(_fold(text))
        return sorted((index for needle in there for index in self._tries_of[needle]), reverse=True)

    def settled_chars(self, text: str) -> int:
        """Tell how much of a text that still grows can be redacted by itself (for pieces that are shown at once).

        Returns:
            A length: whatever is added, redacting the text before it and after it apart is redacting the whole.
        """
        keys = list(key_spans(text))
        # A key that still grows may end a shape in another place than it seems to end.
        known = text[: keys[-1][0] + 1] if keys and keys[-1][1] is None else text
        starts = [word.start() for word in _WORD.finditer(known)]
        words = starts[-self._span_words] if len(starts) > self._span_words else 0
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
    group = "value" if "value" in pattern.regex.groupindex else 0
    if pattern.is_searched:
        found = (match for match in pattern.regex.finditer(text) if pattern.accept(match))
        yield from ((*match.span(group), pattern.kind) for match in found)
        return
    folded = _fold(text)
    at = folded.find(needle)
    while at != -1:
        match = pattern.regex.match(text, at)
        if match and pattern.accept(match):
            yield (*match.span(group), pattern.kind)
            at = folded.find(needle, match.end())
        else:
            # A run that is no token as a whole holds none: it would look random, too.
            at = folded.find(needle, match.end() if match and not group else at + 1)


def _occurrences(secret: str, text: str) -> Spans:
    at = text.find(secret)
    while at != -1:
        yield at, at + len(secret), "secret"
        at = text.find(secret, at + len(secret))

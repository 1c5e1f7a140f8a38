"""Texts with one secret each, as services, files and programs really write them, and texts that hold none."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from pathlib import Path

from neuraphage.redaction.redactor import Redactor

FIXTURES = Path(__file__).parent / "fixtures"

_ALPHABETS = {
    "h": "0123456789abcdef",
    "m": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "w": string.ascii_letters + string.digits + "_-",
}
_SLOT = re.compile(r"\{([hmuldbw])(\d+)\}")


def built(pattern: str, seed: int) -> str:
    """A text from its pattern: `{m32}` is 32 random letters and digits, `{h}` hexadecimal, `{u}` capitals and digits,
    `{l}` small letters and digits, `{d}` digits, `{b}` base64, `{w}` base64url, `{uuid}` one. `|` parts a beginning, so
    that no scanner takes this file for a leak; `{login}` is a user and a password in base64,
    `{pem}` a private key."""
    rng = random.Random(seed)
    text = pattern.replace("|", "")
    text = text.replace("{uuid}", str(uuid.UUID(int=rng.getrandbits(128), version=4)))
    text = text.replace("{login}", base64.b64encode(f"ci:{_drawn(rng, 'm', 20)}".encode()).decode())
    kind = "RSA PRIVATE KEY-----"
    key = f"-----BEGIN {kind}\n{_drawn(rng, 'b', 64)}\n-----END {kind}\n"
    text = text.replace("{pem}", base64.b64encode(key.encode()).decode())
    return _SLOT.sub(lambda slot: _drawn(rng, slot[1], int(slot[2])), text)


def _drawn(rng: random.Random, kind: str, count: int) -> str:
    """With a digit: a password of letters alone is told from a word in few places."""
    drawn = [rng.choice(_ALPHABETS[kind]) for _ in range(count)]
    return "".join([*drawn[:1], rng.choice(string.digits), *drawn[2:]]) if count > 1 else "".join(drawn)


SHAPES: dict[str, str] = json.loads((FIXTURES / "secret_shapes.json").read_text())
"""By name. What stands between `<<` and `>>` is the secret; see `built` for the rest."""

BEHIND_A_DASH = (
    "github classic", "github fine grained", "gitlab personal", "slack bot", "stripe live", "aws key id", "npm",
    "docker hub", "sendgrid", "openai", "openai project", "anthropic", "hugging face", "databricks", "digitalocean",
    "vault", "shopify", "linear", "google oauth secret", "jwt",
)  # fmt: skip
"""Shapes that are known as well where a dash stands before them, as in `X-ghp_...`."""

NOT_KNOWN: dict[str, str] = {
    "putty key": "its lines have no beginning of their own; such files are protected instead (see docs/rules.md)",
    "k8s secret, other name": "only a line far above says that it is one",
}
"""Shapes that nothing catches, each with its reason."""

HARMLESS: list[str] = json.loads((FIXTURES / "harmless_texts.json").read_text())
"""Texts that stay as they are."""


def shape(name: str, seed: int = 0) -> tuple[str, str]:
    """A text and the secret in it."""
    before, rest = SHAPES[name].split("<<", 1) if "<<<" not in SHAPES[name] else SHAPES[name].rsplit("<<", 1)
    secret, after = rest.split(">>", 1)
    mark = "\0"
    text = built(f"{before}{mark}{secret}{mark}{after}", seed)
    return text.replace(mark, ""), text.split(mark)[1]


def is_caught(text: str, secret: str) -> bool:
    """Whether nothing of the secret is left, nor a longer part of it."""
    redacted = re.sub(r"\[redacted:[a-z_]+\]", "\0", Redactor().text(text))
    parts = [part for part in re.split(r"\\n|\s|-----[A-Z ]+-----", secret) if len(part) >= 6] or [secret]
    return not any(part[at : at + 6] in redacted for part in parts for at in range(max(1, len(part) - 5)))

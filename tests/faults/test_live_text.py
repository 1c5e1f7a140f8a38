"""Live text: a secret that comes in pieces, each of which looks harmless, never reaches a viewer.

The texts are English, Chinese and both: the latter have no white space at which they could be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.ports import Delta
from neuraphage.redaction.redactor import Redactor
from neuraphage.runtime.live_text import HELD_MAX_CHARS, LiveText
from neuraphage.store import live
from neuraphage.testing.clock import ManualClock
from turnfixtures import make_rig
from turnkit import Rig, says

__all__ = ["make_rig"]

KEY = "sk-ant-" + "a1B2c3D4" * 5
PHRASE = "correct horse battery staple of mine"
NOTED_PEM = "-----BEGIN PRIVATE KEY-----\n密钥密钥\n-----END PRIVATE KEY-----"
VALUES = (
    "正确马电池订书钉",
    "订书钉正确马电池正确马",  # begins with the end of the one before
    "密码密码密码密码密",  # a piece of it is its beginning
    "пароль от всего на свете",
    "naïve-café-pa55",
    "a密1234567",
)
"""Known values that are not ASCII."""
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 2] * 4)
PEM_WHOLE = PEM + "\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    KEY,
    PHRASE,
    PEM_WHOLE,
    PEM,
    'password = "Tr0ub4dor&3x"',
    "DB_PASSWORD=Tr0ub4dor3xyz",
    "Authorization : Bearer abc123DEF456",
    '"x-api-key" : "k3yK3yk3yK3y99"',
    "postgres://user:hunter2secret@host/db",
    *VALUES,
    NOTED_PEM,
    'token: "密码Tr0ub4dor密码3"',
    "postgres://用户:密@host/db",
    "://:x@",
    '\\"token\\": \\"密码Tr0ub4dor密码3\\"',
    'name="DB_PASS", "value": "s3cr3t"',
    "mongosh h -u me -p swordfish",
    "htpasswd -c -b f me swordfish",
    "PASSPHRASE='correct horse battery staple again more'",
    "identified with sha2 by 's3cr3t99x'",
    "env -S MY_TOKEN s3cr3t99x",
    "set -gx MY_TOKEN s3cr3t99x",
    "login --service -u app -p s3cr3t99x",
    "the api key is a1b2c3d4e5f6",
    "os.putenv('TOKEN', 'a1b2c3d4e5f6')",
    "\\nghp_" + "Ab1" * 12,
    "\x1b[31mAKIA" + "ABCD1234" * 2,
    "ghp_" + "Ab1" * 12,
    "AKIA" + "ABCD1234" * 2,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4fw",
]
WORDS = [
    "the",
    "password",
    "is",
    "token =",
    "sk-",
    "-----BEGIN",
    "-----BEGIN CERTIFICATE-----",
    "://",
    "a\u00a0b",
    *("好的", "正", "正确马电池", "订书钉", "密码", "密码密码密", "пароль", "naïve-", "é", "’", "a密", "🎈"),
    *(
        "token：",
        'token="密',
        "secret_key='码",
        "://用户",
        "://用户:密",
        "https://例え.jp/",
        "码@",
        "sk-é",
        "[redacted:",
        "]",
    ),
    ";",
    "'",
    *("\\n", '\\"', "%22", "\x1b[31m", "value", "pass=", "-p", "-b", "_"),
    *("env", "set -x", "passphrase='", "by", "', '", "']", "is"),
]
GAPS = ["", " ", "\n", "  ", "\t", ", ", "\u00a0", "，", "。"]
NO_GAPS = ["", "", "，", "。"]
REDACTOR = Redactor(secrets=[PHRASE, *VALUES])


def texts() -> st.SearchStrategy[str]:
    """Words and secrets, in half of the texts without white space between them."""
    words = st.sampled_from(SECRETS + WORDS)
    parts = [st.lists(st.tuples(words, st.sampled_from(gaps)), max_size=12) for gaps in (GAPS, NO_GAPS)]
    return st.one_of(parts).map(lambda found: "".join(word + gap for word, gap in found))


@st.composite
def streamed(draw: st.DrawFn) -> list[str]:
    """A text of words and secrets, in pieces."""
    text = draw(texts())
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=20)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def shown(pieces: Sequence[str], *, whole: bool = True, redactor: Redactor = REDACTOR) -> str:
    """What a viewer has seen, when every piece is offered at once."""
    text = LiveText(redactor)
    seen: list[Delta] = []
    for piece in pieces:
        text.add(Delta("text", piece))
        seen += text.take()
    seen += text.end() if whole else []
    return "".join(delta.text for delta in seen)


@settings(max_examples=600)
@given(streamed())
@example([NOTED_PEM + "Authorization : Bearer abc123DEF456correct horse battery s", "taple of mine"])
@example([NOTED_PEM + "Authorization : Bearer abc123DEF456" + NOTED_PEM[:-5], NOTED_PEM[-5:]])
def test_what_is_shown_is_the_redacted_whole(pieces: list[str]) -> None:
    """Wherever a text is cut, the viewer sees exactly what is stored: no secret, and no word lost."""
    assert shown(pieces) == REDACTOR.text("".join(pieces))


@settings(max_examples=600)
@given(texts(), st.one_of(texts(), st.text(max_size=8)), st.data())
def test_what_is_settled_stays_so_whatever_is_added(text: str, added: str, data: st.DataObject) -> None:
    """The law of settled_chars itself, for a text that ends anywhere, even inside a secret."""
    text = text[: data.draw(st.integers(0, len(text)))]
    settled = REDACTOR.settled_chars(text)
    whole = text + added
    assert REDACTOR.text(whole[:settled]) + REDACTOR.text(whole[settled:]) == REDACTOR.text(whole)


@pytest.mark.parametrize("text", [secret for secret in SECRETS if not secret.isascii()])
def test_a_value_without_ascii_is_never_cut(text: str) -> None:
    """Not even where all of it but the last character is there, between words without white space."""
    for before, after in (("好的", "好的"), ("说：", "。"), ("é", "é")):
        assert shown(list(before + text + after)) == REDACTOR.text(before + text + after)
        assert shown(list(before + text[:-1]), whole=False) == before


def test_text_without_white_space_is_shown_as_it_comes() -> None:
    """Chinese and Japanese lag by nothing, however long they are; only where a secret may have begun do they wait."""
    sentence = "我先读这个文件，再修改它。テストを実行します。"
    assert shown(list(sentence), whole=False) == sentence
    assert shown([sentence] * 1_000, whole=False) == sentence * 1_000
    assert shown(list(f"{sentence}用 pytest"), whole=False) == f"{sentence}用"
    assert shown(list(f"{sentence}正确马"), whole=False) == sentence
    assert shown(list(f"{sentence}正确的"), whole=False) == f"{sentence}正确的"
    assert (
        shown(list("见 https://例え.jp/路径，password 是空的"), whole=False)
        == "见 https://例え.jp/路径，password 是空的"
    )


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_in_single_characters_is_not_shown(secret: str) -> None:
    """The slowest stream of all, and the text behind it comes through before the reply ends."""
    text = f"It is {secret} - " + "and so on " * 8
    seen = shown(list(text), whole=False)
    assert REDACTOR.text(text).startswith(seen)
    if secret != PEM:  # a key without an end may still go on
        assert "and so on" in seen


def test_ordinary_words_lag_by_a_few_only() -> None:
    """Viewers see the text as it comes: six words are held back."""
    assert shown(list("one two three four five six seven eight"), whole=False, redactor=Redactor()) == "one two "


def test_names_of_tools_and_kinds_stay_apart_and_in_order() -> None:
    """A tool's name ends the text before it; two tools are two pieces."""
    text = LiveText(REDACTOR)
    for kind, piece in [("thinking", "hm"), ("text", "so"), ("text", " be it"), ("tool", "edit"), ("tool", "edit")]:
        text.add(Delta(kind, piece))
    found = [(delta.kind, delta.text) for delta in text.end()]
    assert found == [("thinking", "hm"), ("text", "so be it"), ("tool", "edit"), ("tool", "edit")]


def test_what_is_held_back_is_bounded() -> None:
    """A word without end is not shown live, and not held either; the next block is shown again."""
    text = LiveText(REDACTOR)
    for _ in range(HELD_MAX_CHARS // 1_000 + 5):
        text.add(Delta("text", "x" * 1_000))
        seen = text.take()
        assert sum(len(delta.text) for delta in seen) < 10
    text.add(Delta("thinking", "again"))
    assert [delta.text for delta in text.end()] == ["again"]


def _streaming(clock: ManualClock, pieces: Sequence[str], then: Callable[[], Any]) -> Callable[..., Any]:
    """A step of the model that streams pieces slower than they are bundled."""

    def step(request: object, on_delta: Callable[[Delta], None], interrupt: object) -> Any:
        for piece in pieces:
            clock.advance(1.0)
            on_delta(Delta("text", piece))
        return then()

    return step


def _viewer_text(rig: Rig, task: str) -> str:
    found = live.snapshot(rig.store.context, task, "0", "0")
    return "".join(item.text for _, item in found if isinstance(item, Delta))


def test_a_viewer_sees_the_stored_text(make_rig: Callable[..., Rig]) -> None:
    """Through the store: a key over two bundles is cut out, and what was shown is what is stored."""
    clock, reply = ManualClock(), f"Your key is {KEY}. Keep it."
    rig = make_rig(_streaming(clock, [reply[:30], reply[30:]], lambda: says(reply)))
    object.__setattr__(rig.services, "clock", clock)
    task = rig.submit()
    live.watch(rig.store.context, task)
    rig.drain()
    assert (
        _viewer_text(rig, task)
        == rig.entries(task)[-1]["content"][0]["text"]
        == "Your key is [redacted:api_key]. Keep it."
    )


def test_the_end_of_a_broken_reply_is_not_shown(make_rig: Callable[..., Rig]) -> None:
    """A stream that breaks inside a secret: too short to look like one, and still a part of one."""
    clock = ManualClock()

    def breaks() -> None:
        raise ModelFault(FaultKind.NETWORK, "connection lost")

    rig = make_rig(_streaming(clock, ["Now I write the key down: ", KEY[:15]], breaks))
    object.__setattr__(rig.services, "clock", clock)
    task = rig.submit()
    live.watch(rig.store.context, task)
    rig.step()
    assert rig.journal(task)["model"].fault == "network"
    assert _viewer_text(rig, task).startswith("Now ")
    assert "sk-ant" not in _viewer_text(rig, task)

"""Progress is folded as a terminal folds it, nothing hides, and no secret comes to light by it."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.terminal_text import fold, shown_output, visible
from neuraphage.redaction.redactor import Redactor

KEY = "sk-ant-api03-" + "Ab1_" * 24
VALUE = "hunter2-and-more-words"
REDACT = Redactor(secrets=[VALUE]).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain\ntext\n", "plain\ntext\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r20%\r30%\n", "30%\n"),
        ("10%\r20%", "20%"),
        ("100 of 100\rdone\n", "doneof 100\n"),
        ("100 of 100\r\x1b[Kdone\n", "done\n"),
        ("\x1b[2K\r1\x1b[2K\r2\x1b[1G\x1b[2K3\n", "3\n"),
        ("wait |\b/\b-\bdone\n", "wait done\n"),
        ("N\bNA\bAM\bME\bE _\bx\n", "NAME x\n"),
        ("\b\b\ba\n", "a\n"),
        ("one\ntwo\n\x1b[2A\x1b[K1\n\x1b[K2\nend\n", "1\n2\nend\n"),
        ("one\ntwo\n\x1b[2A\x1b[Jend\n", "end\n"),
        ("one\ntwo\n\x1b[2F1\x1b[E2\x1b[B3", "1ne\n2wo\n 3"),
        ("kept\n\x1b[2J\x1b[Hnew\n", "kept\nnew\n"),
        ("kept\n\x1b[H\x1b[2J\x1b[3Jkept too\n\x1b[H\x1b[2J\x1b[3Jnew\n", "kept\nkept too\nnew\n"),
        ("kept\n\x1b[H\x1b[Jkept too\n\x1b[H\x1b[Jnew\n", "kept\nkept too\nnew\n"),
        ("kept\n\x1b[2;3Hc\x1b[1;1Ha\x1b[2dx\x1b[2J\x1b[1;2Hb\x1b[2;1Hend", "kept\n b\nend"),
        ("\x1b[24;1H:\x1b[1;1Htext\n~\n", "text\n~" + "\n" * 22 + ":"),
        ("\x1b[9999;9999H\x1b[1;1Hx", "x"),
        ("a\x1b[1Jb", "a\\x1b[1Jb"),
        ("\x1b[31m 9%\x1b[0m\r\x1b[32m10%\x1b[0m\n", "\\x1b[32m10%\\x1b[0m\n"),
        ("a\x00b\x07\x7f\x9b\n", "a\\x00b\\x07\\x7f\\x9b\n"),
        ("\x1b]0;title\x07text\tx\n", "\\x1b]0;title\\x07text\tx\n"),
        ("\x1b[9999999999999Cx", "\\x1b[9999999999999Cx"),
        ("lone \x1b", "lone \\x1b"),
        ("日本\r中\n", "中本\n"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    """Each control by itself."""
    assert shown_output(text, None) == shown


@pytest.mark.parametrize(
    "text", ["x" * 300_000 + "\x1b[1K" * 60_000, "x\x1b[2K" * 60_000, "y\x1b[9999C" * 60_000, "a\n\x1b[200A" * 60_000,
     "x\x1b[2J" * 60_000, "x\x1b[200;1H\x1b[H" * 60_000, "x\x1b[200;1Hy\x1b[2J" * 20_000, "\x1b[H\x1b[Jx\n" * 60_000,
     "\x1b[1;1999Hx\x1b[2J" * 60_000, "\x1b[1999Cx\n" * 60_000, "\x1b[60;1Hx\n" * 60_000]
)  # fmt: skip
def test_a_hostile_text_takes_no_longer_than_a_long_one(text: str) -> None:
    """Each of these would take hours if a control cost as much as its row is long (the test's time limit tells)."""
    assert len(fold(text)) <= 4 * len(text) + 600_000


def test_three_thousand_frames_leave_one_line() -> None:
    """The error before, between and after them is all that is left."""
    frames = "".join(f"\rDownloading {n / 30:5.1f}% of 80 MB" for n in range(3_001))
    assert fold(f"start\n{frames}\nerror: disk full\n") == "start\nDownloading 100.0% of 80 MB\nerror: disk full\n"


PIECES = st.sampled_from(
    ["a", "bc", "def ", "\r", "\b", "\n", "\r\n", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[A", "\x1b[3C",
     "\x1b[2D", "\x1b[4G", "\x1b[J", "\x1b[F"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40))
def test_it_folds_as_a_terminal_does(pieces: list[str]) -> None:
    """Against a terminal emulator, which begins a new row where a terminal of this size would scroll."""
    screen = pyte.Screen(200, 45)
    screen.set_mode(pyte.modes.LNM)
    text = "".join(pieces)
    pyte.Stream(screen).feed(text)
    assert [line.rstrip() for line in fold(text).split("\n") if line.strip()] == [
        line.rstrip() for line in screen.display if line.strip()
    ]


def test_what_left_the_screen_at_the_top_is_never_erased() -> None:
    """A clearing takes as much as a terminal would, and the lines before it stay."""
    lines = "".join(f"{number}\n" for number in range(100))
    shown = fold(f"\x1b[2;1Hdrawn\n{lines}\x1b[2J\x1b[Hend").rstrip("\n").split("\n")
    assert shown[1:70] == ["drawn", *map(str, range(68))]
    assert shown[-1] == "end"


PLACES = st.builds("\x1b[{};{}H".format, st.integers(1, 9), st.integers(1, 9))


@given(st.lists(PIECES | PLACES | st.just("\x1b[2J") | st.just("\x1b[4d") | st.just("\x1b[H"), max_size=20))
def test_a_drawn_screen_is_what_a_terminal_shows(pieces: list[str]) -> None:
    """Against the emulator, once a text was placed on the screen."""
    screen = pyte.Screen(200, 24)
    screen.set_mode(pyte.modes.LNM)
    text = "\x1b[2;1H\x1b[1;1H" + "".join(pieces)
    pyte.Stream(screen).feed(text)
    assert [line.rstrip() for line in fold(text).split("\n") if line.strip()] == [
        line.rstrip() for line in screen.display if line.strip()
    ]


@given(st.text(alphabet="ab\r\n\b\x1b[KJAHd12;m\x00", max_size=60))
def test_any_text_is_shown_without_a_control_character(text: str) -> None:
    """Nothing raises, and what is shown is stable."""
    shown = shown_output(text, None)
    assert not set(shown) - set("\n\t") & {chr(code) for code in range(32)}
    assert visible(fold(shown)) == shown


@pytest.mark.parametrize("secret", [KEY, VALUE])
@pytest.mark.parametrize(
    "spoilt",
    [
        lambda s: f"{s[:6]}\r{s}",
        lambda s: f"{' ' * 6}{s[6:]}\r{s[:6]}\n",
        lambda s: f"{s}\rX\n",
        lambda s: f"{s}\b\bX\n",
        lambda s: f"{s[:8]}x\b{s[8:]}\n",
        lambda s: f"{s[:8]}\x1b[31m{s[8:]}\n",
        lambda s: f"{s[:8]}\x00{s[8:]}\n",
        lambda s: f"{s[:8]}\x1b[31m{s[8:]}\rX\n",
        lambda s: f"{s[:8]}\x1b[K{s[8:]}\n",
        lambda s: f"{s[:8]}\x1b]0;t\x07{s[8:]}\n",
        lambda s: f"x{s[8:]}\r{s[:8]}\x1b[2D\x1b[2C\n",
        lambda s: f"\n{' ' * 8}{s[8:]}\n\x1b[1A{s[:8]}\n",
    ],
)  # fmt: skip
def test_no_part_of_a_secret_comes_to_light(secret: str, spoilt) -> None:
    """However the controls part it, put it together or write over a piece of it."""
    shown = shown_output(f"before\n{spoilt(secret)}after\n", REDACT)
    assert secret[10:16] not in shown
    assert "before" in shown


def test_the_body_of_a_key_whose_first_line_is_erased() -> None:
    """A terminal shows its lines without what would tell that they are a key."""
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" for _ in range(5))
    text = f"-----BEGIN PRIVATE KEY-----\r\x1b[K\n{body}\n-----END PRIVATE KEY-----\n"
    assert "MIIEvQ" not in shown_output(text, REDACT)

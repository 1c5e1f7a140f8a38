"""A pattern of another dialect is no silent `nothing found`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.ports import ToolContext
from neuraphage.tools.grep_dialects import dialect_hint
from neuraphage.tools.search_tools import Glob, Grep

SPELLINGS = [
    (r"foo\|bar", "foo|bar"),
    (r"\<x\>", r"\bx\b"),
    (r"\(x\)", "(x)"),
    (r"fo\{2\}", "fo{2}"),
    (r"fo\+", "fo+"),
    (r"xx\?", "xx?"),
    (r"[[:alpha:]]+", "[a-zA-Z]+"),
    (r"[_[:digit:]]", "[_0-9]"),
    (r"\hx", r"[ \t]x"),
    (r"(?<name>foo)", "(?P<name>foo)"),
    (r"\p{L}oo", r"[^\W\d_]oo"),
    (r"x\z", r"x\Z"),
]
RELATIVES = [
    # JavaScript, Perl, sed, PHP, Python's own literal
    ("/FOO/i", "(?i)FOO", "foo", "fo"),
    ("/foo/", "foo", "foo", "fo"),
    (r"/a\/b/g", r"a\/b", "a/b", "ab"),
    ("m/fo+/", "fo+", "foo", "f"),
    ("s/foo/bar/g", "foo", "foo", "bar"),
    ("#fo+#i", "(?i)fo+", "FOO", "f"),
    ('r"fo+"', "fo+", "foo", "f"),
    ("foo(?i)", "(?i)foo", "FOO", "f"),
    ("a[^]*b", "a.*b", "a]b", "a"),
    # vim
    (r"\vfo{-1,}<bar>", r"fo{1,}?\bbar\b", "foo", None),
    (r"\v<foo>", r"\bfoo\b", "a foo b", "food"),
    (r"\v%(foo|bar)=x", "(?:foo|bar)?x", "x", "foo"),
    (r"\vf\(x\)", r"f\(x\)", "f(x)", "fx"),
    (r"\Vf(x).", r"f\(x\)\.", "f(x).", "f(x)!"),
    (r"\cFOO", "(?i)FOO", "foo", "fo"),
    (r"foo\%(bar\)", "foo(?:bar)", "foobar", "foo"),
    (r"fo\=", "fo?", "f", "o"),
    (r".*foo\&.*bar", "(?=.*foo).*bar", "bar foo", "bar"),
    (r"fo\{-1,}", "fo{1,}?", "fo", "f"),
    (r"fo\{2}", "fo{2}", "foo", "fo"),
    (r"a\zsb\zec", "abc", "abc", "ab"),
    (r"\a\+", "[A-Za-z]+", "x", "1"),
    # Emacs
    (r"^\s-*foo", r"^\s*foo", "\t foo", "-foo"),
    (r"\_<foo\_>", r"\bfoo\b", "a foo", "food"),
    # PCRE, Ruby, .NET, JavaScript
    (r"\Qf(x).y\E+", r"f\(x\)\.y+", "f(x).y", "fxy"),
    (r"\Qf(x)", r"f\(x\)", "f(x)", "fx"),
    (r"\u{e9}", "é", "é", "e"),
    (r"\x{e9}", "é", "é", "e"),
    (r"\{e9}", "é", "é", "e"),
    (r"\N{U+00E9}", "é", "é", "e"),
    (r"[\x{e9}x]", "[éx]", "é", "e"),
    (r"(?<q>['`])x\k<q>", "(?P<q>['`])x(?P=q)", "'x'", "'x`"),
    (r"(?'q'a)\k{q}", "(?P<q>a)(?P=q)", "aa", "ab"),
    (r"(a)\g{1}", r"(a)(?:\1)", "aa", "ab"),
    (r"foo\Kbar", "foobar", "foobar", "bar"),
    (r"\P{Nd}", r"(?:(?!\d).)", "a", "1"),
    (r"\pL+1", r"[^\W\d_]+1", "é1", "11"),
    (r"x\H", r"x[^ \t]", "xy", "x "),
    (r"\e[0m".replace("[", r"\["), r"\x1b\[0m", "\x1b[0m", "[0m"),
    (r"\yfoo\y", r"\bfoo\b", "a foo", "food"),
    # POSIX
    ("[:digit:]+x", "[0-9]+x", "1x", "dx"),
    ("[^[:space:]]", r"[^\s]", "x", " "),
    ("[[:<:]]foo[[:>:]]", r"\bfoo\b", "a foo", "food"),
    # lines
    (r"foo\n", "foo$", "foo", "foo x"),
    (r"^foo\r\n$", "^foo$", "foo", "foo x"),
    (r"foo\R", "foo$", "foo", "foo x"),
    (r"\nfoo", "^foo", "foo", "x foo"),
    (r"foo\r?\n", "foo$", "foo", "foo x"),
    # globs
    ("*.py", r"\.py", "a.py", "apy"),
    ("**/*.ts", r"\.ts", "src/a.ts", "ats"),
    ("test_*.py", r"test_[^/]*\.py", "test_a.py", "test_py"),
    ("src/**/*.{ts,tsx}", r"src/(?:.*/)?[^/]*\.(?:ts|tsx)", "src/a/b.tsx", "src/b.py"),
    ("src/*", "src/", "src/a", "src"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "spelling"), SPELLINGS)
def test_the_right_spelling_is_given_and_it_finds(
    root: Path, context: ToolContext, pattern: str, spelling: str
) -> None:
    """What is advised finds what was meant."""
    (root / "a.txt").write_text("foo 1\n x\n", encoding="utf-8")
    result = Grep().run({"pattern": pattern}, context)
    assert "Python regular expression" in result.text
    assert f"the spelling is: {spelling}\n" in result.text + "\n"
    found = Grep().run({"pattern": spelling}, context)
    assert found.text.startswith("a.txt:"), found.text


@pytest.mark.parametrize(("pattern", "spelling", "meant", "other"), RELATIVES)
def test_each_dialect_is_put_into_pythons_words(pattern: str, spelling: str, meant: str, other: str | None) -> None:
    """And the spelling fits what was meant alone."""
    hint = dialect_hint(pattern)
    assert hint is not None
    assert hint.lower().rpartition("the spelling is: ")[2].partition("\n")[0] == spelling.lower()
    assert hint.endswith(spelling) or f"{spelling}\n" in hint
    if other is not None:
        assert re.search(spelling, meant)
        assert not re.search(spelling, other)


@pytest.mark.parametrize("pattern", [pattern for pattern, *_ in RELATIVES])
def test_no_dialect_finds_nothing_in_silence(root: Path, context: ToolContext, pattern: str) -> None:
    """Also where Python calls it an error."""
    (root / "a.txt").write_text("\n", encoding="utf-8")
    assert "the spelling is: " in Grep().run({"pattern": pattern}, context).text.lower()


@pytest.mark.parametrize(
    ("pattern", "likely", "strict"),
    [
        (r"(foo\|bar)+", "(foo|bar)+", r"\(foo|bar\)\+"),
        (r"foo()\|bar()", "foo()|bar()", r"foo\(\)|bar\(\)"),
        (r"if (x\|y", None, r"if \(x|y"),
    ],
)
def test_bare_specials_of_a_basic_pattern_have_both_spellings(pattern: str, likely: str | None, strict: str) -> None:
    """In basic expressions they are characters; who writes one often means Python's."""
    hint = dialect_hint(pattern)
    assert hint is not None
    if likely is None:
        assert hint.endswith(f"the spelling is: {strict}")
    else:
        assert f"the spelling is: {likely}\n" in hint
        assert hint.endswith(f"it is: {strict}")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\p{Lu}x", r"\p{Lu} is not known here, and Python has no spelling"),
        (r"\vfoo(bar)@=", "@= is not known here, and Python has no spelling"),
        (r"foo\nbar", "search for a part that is in one line"),
        (r"foo[\s\S]*bar", "nothing fits across lines"),
        ("(?s)foo.*bar", "nothing fits across lines"),
        ("foo\nbar", "search for a part that is in one line"),
    ],
)
def test_what_has_no_spelling_is_told_all_the_same(root: Path, context: ToolContext, pattern: str, words: str) -> None:
    """No spelling is made up."""
    (root / "a.txt").write_text("foo\nbar\n", encoding="utf-8")
    text = Grep().run({"pattern": pattern}, context).text
    assert words in text
    assert "spelling is" not in text


def test_a_lone_end_of_a_group_reads_as_what_it_is() -> None:
    """It was told as `a group is written )`."""
    hint = dialect_hint(r"(x\)")
    assert hint is not None
    assert "a bare ) ends a group" in hint
    assert "))" not in hint


@pytest.mark.parametrize(
    "pattern",
    [
        r"f\(x\)", r"a\.b", r"\d+", r"\\|zzz", "foo|bar", r"\[x\]", r"\bfoo\b", r"[\|x]q", "/usr/local/lib", r"\\n",
        "fo*q", r"q[^\n]*", "a++q", r"\{\}q", r"\{feed\}", "^q$", "(?i)q", "(?P<n>q)(?P=n)", r"q\Z", "https://q.z/",
        "q.*z", "a*b*q",
    ],
)  # fmt: skip
def test_nothing_is_said_of_what_is_meant_as_it_stands(root: Path, context: ToolContext, pattern: str) -> None:
    """A pattern that finds something, or that is Python's own."""
    (root / "a.txt").write_text("f(x)\n", encoding="utf-8")
    text = Grep().run({"pattern": pattern}, context).text
    assert "Python regular expression" not in text
    assert "Each line" not in text


@given(st.text(alphabet="\\()[]{}|+?*<>/^$vVcCzsek&=%-_:.,aQE1u\n#~", max_size=14))
def test_any_spelling_that_is_given_is_valid(pattern: str) -> None:
    """Whatever is asked, nothing raises and no advice fails."""
    hint = dialect_hint(pattern) or ""
    for mark in ("the spelling is: ", "The spelling is: ", "characters, it is: "):
        for spelling in hint.split(mark)[1:]:
            re.compile(spelling.partition("\nOr, if")[0])


@pytest.mark.parametrize(
    ("pattern", "spelling"),
    [
        (r".*\.py", "**/*.py"),
        (r"\.py$", "**/*.py"),
        (r"src/.*\.ts$", "**/*src/**/*.ts"),
        (r"^src/.*\.(ts|py)$", "src/**/*.{ts,py}"),
        (r"^src/[^/]+\.py$", "src/*.py"),
        (r"test_.*\.py$", "**/*test_*.py"),
        (r"\w+\.py$", "**/*.py"),
        (r"a.+", "**/*a*"),
    ],
)
def test_a_regular_expression_given_to_glob(root: Path, context: ToolContext, pattern: str, spelling: str) -> None:
    """The spelling finds what was meant."""
    for name in ["src/test_a.py", "src/a.ts"]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")
    text = Glob().run({"pattern": pattern}, context).text
    assert text.startswith("No file matches.")
    assert text.endswith(f"the spelling is: {spelling}")
    found = set(Glob().run({"pattern": spelling}, context).text.split("\n"))
    meant = {name for name in ("src/test_a.py", "src/a.ts") if re.search(pattern, name)}
    assert found == meant


@pytest.mark.parametrize("pattern", [r"\d{3}\.py", r"(?!x).*\.py", "a|b.py"])
def test_an_expression_that_no_glob_can_say(root: Path, context: ToolContext, pattern: str) -> None:
    """What a glob is is told, and no spelling is made up."""
    text = Glob().run({"pattern": pattern}, context).text
    assert "not a regular expression" in text
    assert "spelling" not in text


@pytest.mark.parametrize(
    "pattern", ["*.py", "src/**/*.{ts,tsx}", "[a-c]?.md", "c++/*.h", "a(b)/c", "x.y", "**/x.*", "a.*/b", "**/.*"]
)
def test_a_glob_is_told_nothing_of_expressions(root: Path, context: ToolContext, pattern: str) -> None:
    """Names with plus signs and brackets are common."""
    assert Glob().run({"pattern": pattern}, context).text == "No file matches."

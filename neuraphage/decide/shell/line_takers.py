"""Programs that run lines: shells, and what takes a line in a word, from a file or from its input. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise

from neuraphage.model.shell import ShellWord, SimpleCommand

SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_ECHO_OPTIONS = frozenset({"-n", "-e", "-E", "-ne", "-en", "--"})
_SHELL_FILES = frozenset({"--rcfile", "--init-file"})
_INPUTS = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


@dataclass(frozen=True, slots=True)
class Inner:
    """What a program runs.

    Args:
        commands: as words.
        lines: as command lines of their own, still to be read.
        unclear: what it runs that nobody but the program can tell, in words for people.
        reads_text: whether it runs what is given to it as a text: its input, or what another command has put together.
    """

    commands: tuple[SimpleCommand, ...] = ()
    lines: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    reads_text: bool = False


NOTHING = Inner()


def of_shell(name: str, words: Sequence[ShellWord]) -> Inner:
    """A shell: the line behind its options with `-c`, else a file, else its input."""
    at, letters = 0, ""
    while at < len(words):
        text = words[at].text
        if text in ("-", "--"):
            at += 1
            break
        if text is None or text[:1] not in ("-", "+") or not text:
            break
        if text.startswith("--"):
            at += 2 if text in _SHELL_FILES else 1
        else:
            letters += text[1:] if text[0] == "-" else ""
            at += 1 + sum(map(text.count, "oO"))
    rest = words[at:]
    if "c" in letters:
        return line_in(name, rest[:1])
    return of_file(name, () if "s" in letters else rest)


def of_file(name: str, words: Sequence[ShellWord]) -> Inner:
    """What runs the lines of a file that is named first, or of its input."""
    file = words[0].text if words else None
    from_file = file is not None and file not in _INPUTS
    what = f"{name} runs the lines of a file: {file}" if from_file else f"{name} runs lines that it is given"
    return Inner(unclear=(what,), reads_text=not from_file)


def line_behind_c(words: Sequence[ShellWord]) -> Sequence[ShellWord] | None:
    """The line of a program that takes one behind `-c`, as a word; None where it has none."""
    for at, word in enumerate(words):
        text = word.text or ""
        if text.startswith("--command="):
            return (ShellWord(word.source, (text.partition("=")[2],)),)
        if text == "--command" or (text.startswith("-") and not text.startswith("--") and "c" in text):
            return words[at + 1 : at + 2]
    return None


def line_in(name: str, words: Sequence[ShellWord]) -> Inner:
    """The line that a word holds."""
    text = words[0].text if words else None
    return Inner(lines=(text,)) if text is not None else uncertain(name)


def uncertain(name: str) -> Inner:
    """A line that only the shell can put together."""
    return Inner(unclear=(f"{name} runs a line that is not certain",), reads_text=True)


def of_git(words: Sequence[ShellWord]) -> Inner:
    """Settings that make git run what they say; an alias with `!` is a line."""
    lines, unclear = [], []
    for option, value in pairwise(words):
        if option.text not in ("-c", "--config-env"):
            continue
        setting, _, what = (value.text or "").partition("=")
        if setting.lower().startswith("alias.") and what.startswith("!"):
            lines.append(what[1:])
        unclear.append(f"a setting of git may run programs: {value.source}")
    return Inner(lines=tuple(lines), unclear=tuple(unclear))


def split_string(words: Sequence[ShellWord]) -> Sequence[ShellWord] | None:
    """The line of `env -S`, as the next word or in the same one; None where it has none."""
    for at, word in enumerate(words):
        text = word.text or ""
        following = words[at + 1 : at + 2]
        if text.startswith("--split-string"):
            return (ShellWord(word.source, (text.partition("=")[2],)),) if "=" in text else following
        if not text.startswith("-"):
            return None
        if not text.startswith("--") and "S" in text:
            rest = text.partition("S")[2]
            return (ShellWord(word.source, (rest,)),) if rest else following
    return None


def of_trap(words: Sequence[ShellWord]) -> Inner:
    """The line that is run at a signal."""
    rest = [word for word in words if not (word.text or "").startswith("-")]
    return line_in("trap", rest[:1]) if rest else NOTHING


def of_alias(words: Sequence[ShellWord]) -> Inner:
    """Another name for a program, which later words may use."""
    return Inner(unclear=("it gives a program another name (alias)",)) if words else NOTHING


def said_by(commands: Sequence[SimpleCommand]) -> list[str]:
    """What `echo` and `printf` say: lines, if something that runs its input reads them."""
    found = []
    for command in commands:
        if command.name in ("echo", "printf"):
            words = dropwhile(lambda word: word.text in _ECHO_OPTIONS, command.words[1:])
            found.append(" ".join(word.text or word.source for word in words).replace("\\n", "\n"))
    return found

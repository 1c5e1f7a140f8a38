"""A shell command line as it was read: the commands that it runs, whatever they stand in."""

from __future__ import annotations

from dataclasses import dataclass

_WRITING = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})
HOME = "\0"
"""Stands in a word's text for the home directory: no word can hold it, and a quoted `~` is a name like any other."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word of a command.

    Args:
        source: as it was written.
        texts: what it comes to, without its quotes and with its braces worked out; none where only the shell can tell.
        is_pattern: whether it holds an unquoted `*`, `?` or `[`.
    """

    source: str
    texts: tuple[str, ...]
    is_pattern: bool = False

    @property
    def text(self) -> str | None:
        """What it comes to, if that is one certain text."""
        return self.texts[0] if len(self.texts) == 1 else None


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where output goes, or input comes from.

    Args:
        operator: as it is written: `>`, `>>`, `>|`, `<`, ...
        target: the file, or the number of a stream.
    """

    operator: str
    target: ShellWord

    @property
    def writes(self) -> bool:
        """Whether its target is written."""
        return self.operator in _WRITING


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its words.

    Args:
        words: its name first; never empty.
        within: names of the programs that run it (`sudo`, `xargs`, `bash`), the outermost first.
    """

    words: tuple[ShellWord, ...]
    within: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """The program without its directory; None where only the shell can tell."""
        text = self.words[0].text
        return None if text is None else text.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ShellLine:
    """All that a command line runs and writes.

    Args:
        commands: in the order in which they stand, each followed by what it runs in its turn.
        redirects: all of them.
        assigned: names of variables that it sets, for itself or for one command.
        texts: here-documents and here-strings, as they are written: what reads its input as lines may run them.
        unclear: what only the shell can tell, in words for people; such a line is asked about.
        is_fork_bomb: whether it has a function that starts itself without end.
    """

    commands: tuple[SimpleCommand, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assigned: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    is_fork_bomb: bool = False

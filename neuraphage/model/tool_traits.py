"""What the parameters and results of a tool mean to policy and to surfaces: nothing else matches on a tool's name."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class WholeFile(Frozen):
    """A call that puts a new content in place of all of a file.

    Args:
        path: parameter that names the file.
        content: parameter with the content.
    """

    path: str = "path"
    content: str = "content"


class PartOfFile(Frozen):
    """A call that puts one text in place of another in a file.

    Args:
        path: parameter that names the file.
        old, new: parameters with the text that goes and the one that comes.
        every: parameter that says whether all places are meant; None when there is none.
    """

    path: str = "path"
    old: str = "old_string"
    new: str = "new_string"
    every: str | None = "replace_all"


class NumberedFile(Frozen):
    """A call whose result is lines of a file, each behind its number and a tab.

    Args:
        path: parameter that names the file.
        first, count: parameters that choose a part: the first line, and how many.
    """

    path: str = "path"
    first: str = "offset"
    count: str = "limit"


class ResultView(StrEnum):
    """What a surface shows of a result that is no error."""

    BEGINNING = "beginning"
    """Its first lines."""
    END = "end"
    """Its last lines, the very last one as the outcome: of a command."""
    LINES = "lines"
    """How many lines it has."""
    ENTRIES = "entries"
    """How many entries it lists."""
    NOTHING = "nothing"
    """That the call was made says it all."""


class RatedKind(StrEnum):
    """Kinds of calls of which a task may begin so many within a minute."""

    WRITES = "writes"
    COMMANDS = "commands"


class ToolTraits(Frozen):
    """What a tool's calls and results mean.

    Args:
        title: what the tool does, for people, in a few words.
        command: parameter that is a shell command line: policy looks into it, and surfaces show it as one.
        reads: parameters that are paths it reads.
        writes: parameters that are paths it writes.
        change: how the parameters tell of a change of one file: it is shown as a diff, and a person's approval holds
            for the file as it was then.
        shows: how a result shows a file, so that a later change of it can be shown as a diff.
        subject: parameters that say what a call is about: a title shows these alone, bare. None for all, by name.
        within: parameter of a directory; shown behind the subject unless it is the working directory itself.
        result: what is shown of a result.
        changes_repository: whether it changes the git repository of the working directory, which worktrees share.
        hosts: parameters that are URLs or names of hosts of which only one task may ask anything at a time.
    """

    title: str = ""
    command: str | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    change: WholeFile | PartOfFile | None = None
    shows: NumberedFile | None = None
    subject: tuple[str, ...] | None = None
    within: str | None = None
    result: ResultView = ResultView.BEGINNING
    changes_repository: bool = False
    hosts: tuple[str, ...] = ()

    @property
    def read_files(self) -> tuple[str, ...]:
        """Parameters that are files it reads: what searches or lists reads directories."""
        return () if self.within is not None or self.result is ResultView.ENTRIES else self.reads

    @property
    def rated(self) -> RatedKind | None:
        """Which kind of rate its calls count for; None for none."""
        if self.command is not None:
            return RatedKind.COMMANDS
        return RatedKind.WRITES if self.writes or self.change is not None else None

    def parameters(self) -> frozenset[str]:
        """Every parameter that is named here: a declaration must have it."""
        change = self.change.model_dump().values() if self.change else ()
        shows = self.shows.model_dump().values() if self.shows else ()
        named = (
            self.command,
            self.within,
            *self.reads,
            *self.writes,
            *self.hosts,
            *(self.subject or ()),
            *change,
            *shows,
        )
        return frozenset(name for name in named if name is not None)

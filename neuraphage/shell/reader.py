"""A command line's tree by `shfmt --to-json`, read together with the lines that stand in its words.

shfmt read 50 of 50 snippets of everyday scripts where tree-sitter-bash read 41 and bashlex 28.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections import OrderedDict
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import orjson
import psutil

from neuraphage.decide.shell.line_takers import said_by
from neuraphage.decide.shell.programs import inner_of
from neuraphage.decide.shell.tree import read_tree
from neuraphage.model.shell import ShellLine, SimpleCommand

PROGRAM = "shfmt"
MOST_BYTES = 20_000
"""Of a line that is read: its tree takes some thousand times as much."""
MOST_CPU_S = 10.0
"""Processor time that the parser may take; it takes some milliseconds."""
WAIT_S = 5.0
"""How often it is looked how much it has taken."""
MOST_WAITS = 120
MOST_LINES = 32
"""Lines inside of lines that are read; what has more is unclear."""
MOST_COMMANDS = 10_000
TEXT = "text"
"""Stands among the programs that run a command where it is a text that one of them may read as a line."""
KEPT = 64
"""Readings that are remembered: a call is judged more than once on its way."""


class ShfmtReader:
    """Implements ports.ShellReader.

    Args:
        program: path of shfmt; None to look beside this Python and on PATH.
    """

    def __init__(self, program: str | None = None) -> None:
        self._program = program or find_shfmt()
        self._known: OrderedDict[str, ShellLine | None] = OrderedDict()

    @property
    def is_there(self) -> bool:
        """Whether there is a parser."""
        return self._program is not None

    def read(self, command: str) -> ShellLine | None:
        """See ports.ShellReader."""
        if command not in self._known:
            self._known[command] = self._read(command)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return self._known[command]

    def _read(self, command: str) -> ShellLine | None:
        whole = self._parsed(command)
        return None if whole is None else self._followed(whole)

    def _followed(self, whole: ShellLine) -> ShellLine:
        """With what its commands run in their turn, and what of its texts something reads as lines."""
        waiting, found = list(reversed(whole.commands)), list[SimpleCommand]()
        lines, tried = 0, set[str]()
        reads_text = False
        while waiting:
            one = waiting.pop()
            found.append(one)
            inner = inner_of(one)
            whole = replace(whole, unclear=(*whole.unclear, *inner.unclear))
            waiting += reversed(inner.commands)
            reads_text = reads_text or inner.reads_text
            within = (*one.within, one.name or "")
            nested = [(line, within, True) for line in inner.lines]
            if reads_text and not waiting:
                texts = (*whole.texts, *said_by(found))
                nested += [(text, (*within, TEXT), False) for text in dict.fromkeys(texts) if text not in tried]
                tried |= set(texts)
            for line, runs_it, must_be_read in nested:
                lines += 1
                read = self._parsed(line) if lines <= MOST_LINES else None
                if read is not None or must_be_read:
                    whole = _joined(whole, read, line)
                if read is not None:
                    waiting += [replace(each, within=(*runs_it, *each.within)) for each in reversed(read.commands)]
            if len(found) > MOST_COMMANDS:
                return replace(whole, commands=tuple(found), unclear=(*whole.unclear, "it runs too many commands"))
        return replace(whole, commands=tuple(found))

    def _parsed(self, line: str) -> ShellLine | None:
        """What one line runs by itself; None where it cannot be read."""
        source = line.encode("utf-8", "replace")
        if self._program is None or len(source) > MOST_BYTES or b"\0" in source:
            return None
        try:
            written = self._written(self._program, source)
            return None if written is None else read_tree(orjson.loads(written), source)
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            return None  # whoever asks treats what cannot be read as unclear

    def _written(self, program: str, source: bytes) -> bytes | None:
        """What the parser writes about a line; None where it refuses it, or comes to no end.

        A wait that has run out says nothing: a tool may have held this interpreter, or the machine may be busy.
        """
        with subprocess.Popen(  # noqa: S603 - a program that we found, no shell, fixed arguments
            [program, "--language-dialect", "bash", "--to-json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,  # a Ctrl-C on a terminal is not meant for it
        ) as child:
            given: bytes | None = source
            for _ in range(MOST_WAITS):
                try:
                    written, _nothing = child.communicate(given, timeout=WAIT_S)
                except subprocess.TimeoutExpired:
                    given = None  # it has it
                    if _cpu_s(child.pid) > MOST_CPU_S:
                        break
                else:
                    return written if child.returncode == 0 else None
            child.kill()
        return None


def _cpu_s(pid: int) -> float:
    """Processor time that a child has taken; 0 of one that has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _joined(whole: ShellLine, inner: ShellLine | None, line: str) -> ShellLine:
    if inner is None:
        return replace(whole, unclear=(*whole.unclear, f"a line inside of it cannot be read: {line[:80]}"))
    return replace(
        whole,
        redirects=whole.redirects + inner.redirects,
        assigned=whole.assigned + inner.assigned,
        texts=whole.texts + inner.texts,
        unclear=whole.unclear + inner.unclear,
        is_fork_bomb=whole.is_fork_bomb or inner.is_fork_bomb,
    )


def find_shfmt() -> str | None:
    """The parser that was installed with neuraphage, wherever that put its programs, else one on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / PROGRAM
    if beside.is_file():
        return str(beside)
    try:
        installed = distribution("shfmt-py").files or ()
    except PackageNotFoundError:
        installed = ()
    places = (Path(str(one.locate())) for one in installed if one.name == PROGRAM)
    return next((str(place) for place in places if place.is_file()), None) or shutil.which(PROGRAM)

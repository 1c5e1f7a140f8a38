"""The process that searches: one request as JSON on stdin, one answer as JSON on stdout, then it ends.

It is a process of its own because a slow regular expression holds its interpreter and could not be stopped
otherwise. It imports the standard library only and is started by path, so it starts fast. It ends with its
parent (Linux), and in any case soon after its time limit: both are kernel signals, which need no interpreter.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import resource
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from neuraphage.proc import kernel_ties
    from neuraphage.tools import beneath
    from neuraphage.tools.search_near import NearLine, NearNames
    from neuraphage.tools.search_patterns import glob_regex
    from neuraphage.tools.search_walk import MAX_DEPTH, MAX_FILE_BYTES, Stopped, Walk, parts_below, read_regular
else:
    # run by path, outside the package: importing the package would load the whole library
    _HERE = Path(__file__).parent
    sys.path += [str(_HERE), str(_HERE.parent / "proc")]
    import beneath
    import kernel_ties
    from search_near import NearLine, NearNames
    from search_patterns import glob_regex
    from search_walk import MAX_DEPTH, MAX_FILE_BYTES, Stopped, Walk, parts_below, read_regular

MAX_LINE_CHARS = 500
MARGIN_CHARS = 4_096
"""Of a longer line so much on each side goes to the parent, which takes secrets out before it cuts."""
MAX_OUTPUT_CHARS = 400_000
_MAX_MEMORY_BYTES = 2 * 1024**3


def die_with_parent(parent_pid: int, timeout_s: float) -> None:
    """Let the kernel end this process when its parent is gone or the time is far over."""
    signal.alarm(math.ceil(timeout_s) + 2)
    limit_memory()
    with contextlib.suppress(OSError):  # the time limit holds all the same
        kernel_ties.end_with_parent(signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before the line above
        sys.exit(1)


def limit_memory() -> None:
    """Let no pattern use up the machine; where less is allowed already, that stands."""
    allowed = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    most_bytes = min([_MAX_MEMORY_BYTES, *allowed])
    with contextlib.suppress(ValueError, OSError):  # macOS refuses any; the time limit holds all the same
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def root_of(request: dict[str, Any]) -> beneath.Pin:
    """The root as it was when its path was resolved."""
    return beneath.Pin(request["root"], *request["root_id"])


def find_names(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a glob: paths, newest first, ties by name."""
    matcher = re.compile(glob_regex(request["pattern"]), re.DOTALL)
    pattern = request["pattern"]
    levels = MAX_DEPTH if "**" in pattern else pattern.count("/") + 1  # no need to look below these
    walk = Walk(root_of(request), request["base"], levels)
    start = os.path.relpath(request["base"], request["root"])
    cut = 0 if start == "." else len(start) + 1
    found: list[tuple[int, str]] = []
    stopped = ""
    try:
        for relative in walk.files():
            if matcher.fullmatch(relative[cut:]):
                with contextlib.suppress(OSError):
                    name = relative.rpartition("/")[2]
                    info = os.stat(name, dir_fd=walk.directory_fd, follow_symlinks=False)
                    found.append((-info.st_mtime_ns, relative))
    except Stopped as limit:
        stopped = str(limit)
    names = [name for _, name in sorted(found)]
    shown = names[: request["max_results"]]
    return {"lines": shown, "left_out": len(names) - len(shown), **walk.limits(stopped)}


def find_near_names(request: dict[str, Any]) -> dict[str, Any]:
    """Paths that a glob fits but for what cannot be seen, and for what makes them differ; the first few."""
    pattern = request["pattern"]
    levels = MAX_DEPTH if "**" in pattern else pattern.count("/") + 1
    start = os.path.relpath(request["base"], request["root"])
    cut = 0 if start == "." else len(start) + 1
    near = NearNames(pattern, glob_regex)
    with contextlib.suppress(Stopped):
        for relative in Walk(root_of(request), request["base"], levels).files():
            if near.add(relative[cut:], relative):
                break
    return {"near": near.found}


def long_line(head: str, line: str, match_at: int) -> dict[str, Any]:
    """What of a long line the parent needs to show the part around the match."""
    start = max(0, min(match_at - MAX_LINE_CHARS // 2, len(line) - MAX_LINE_CHARS))
    first = max(0, start - MARGIN_CHARS)
    text = line[first : start + MAX_LINE_CHARS + MARGIN_CHARS]
    return {"head": head, "text": text, "first": first, "start": start - first, "line_chars": len(line)}


class Grep:
    """Answers one grep."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        if foreign := re.search(r"\[[^\]]*(\[:\w+:\])", request["pattern"]):
            raise re.error(f"{foreign[1]} is of another dialect; use \\d, \\w, \\s or a range such as [a-z]")
        self.regex = re.compile(request["pattern"], re.IGNORECASE if request["case_insensitive"] else 0)
        glob = request["glob"]
        self.filter = re.compile(glob_regex(glob), re.DOTALL) if glob else None
        self.lines: list[str | dict[str, Any]] = []
        self.chars = 0
        self.matches = 0
        self.skipped: dict[str, int] = {}
        self.fitting = 0
        self.walk = Walk(root_of(request), request["base"])

    def answer(self) -> dict[str, Any]:
        """Search the base, a file or a directory."""
        stopped = ""
        try:
            for relative, text in self._texts():
                self._search(relative, text)
        except Stopped as limit:
            stopped = str(limit)
        found = {"lines": self.lines, "skipped": self.skipped, "fitting": self.fitting}
        return {**found, **self.walk.limits(stopped)}

    def near(self) -> dict[str, Any]:
        """The first line that the pattern fits but for what cannot be seen."""
        near = NearLine(self.request["pattern"], self.regex.flags & re.IGNORECASE)
        with contextlib.suppress(Stopped):
            for relative, text in self._texts():
                if text and (found := near.found_in(text.replace("\r\n", "\n").removesuffix("\n"))):
                    return {"near": [relative, *found]}
        return {"near": None}

    def _texts(self) -> Iterator[tuple[str, str]]:
        """Paths and texts of the files to search; what cannot be searched is counted."""
        root, base = self.request["root"], self.request["base"]
        start = os.path.relpath(base, root)
        parts = parts_below(root, base)
        with beneath.directory(self.walk.pin, parts[:-1]) as above:
            single = bool(parts) and not stat.S_ISDIR(os.stat(parts[-1], dir_fd=above, follow_symlinks=False).st_mode)
            yield from self._texts_of([start], above, 0, None) if single else ()
        if not single:
            yield from self._texts_of(self.walk.files(), None, 0 if start == "." else len(start) + 1, self.filter)

    def _texts_of(
        self, paths: Iterable[str], directory_fd: int | None, cut: int, names: re.Pattern[str] | None
    ) -> Iterator[tuple[str, str]]:
        for relative in paths:
            if names is not None and not names.fullmatch(relative[cut:]):
                continue
            self.fitting += 1
            fd = self.walk.directory_fd if directory_fd is None else directory_fd
            data = read_regular(relative.rpartition("/")[2], MAX_FILE_BYTES, fd)
            if isinstance(data, bytes) and b"\0" in data:
                data = "binary"
            if isinstance(data, str):
                self.skipped[data] = self.skipped.get(data, 0) + 1
            else:
                yield relative, data.decode("utf-8-sig", "replace")

    def _search(self, relative: str, text: str) -> None:
        shown = relative.replace("\n", "\\n")  # or it would pass for a line of another file
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
        before, after, last = self.request["before_lines"], self.request["after_lines"], -1
        hits = {}
        for number, line in enumerate(lines):
            if found := self.regex.search(line):
                hits[number] = found.start()
                if len(hits) > self.request["max_results"] - self.matches:
                    break
        for number in list(hits):
            if self.matches == self.request["max_results"]:
                raise Stopped(f"max_results ({self.matches}) was reached")
            self.matches += 1
            first = max(last + 1, number - before)
            if (before or after) and self.lines and (last < 0 or first > last + 1):
                self._add("--")
            for near in range(first, min(len(lines), number + after + 1)):
                if near > number and near in hits:
                    break  # its own match shows it
                mark = ":" if near in hits else "-"
                head, line = f"{shown}{mark}{near + 1}{mark}", lines[near]
                is_long = len(line) > MAX_LINE_CHARS
                self._add(long_line(head, line, hits.get(near, 0)) if is_long else head + line)
                last = near

    def _add(self, line: str | dict[str, Any]) -> None:
        self.chars += len(line) if isinstance(line, str) else len(line["head"]) + MAX_LINE_CHARS
        if self.chars > MAX_OUTPUT_CHARS:
            raise Stopped("the output is too long")
        self.lines.append(line)


_KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "glob": find_names,
    "near_glob": find_near_names,
    "grep": lambda request: Grep(request).answer(),
    "near_grep": lambda request: Grep(request).near(),
}


def main() -> None:
    """Read the request, search, write the answer."""
    request = json.loads(sys.stdin.buffer.read())
    die_with_parent(request["parent_pid"], request["timeout_s"])
    try:
        answer = _KINDS[request["kind"]](request)
    except re.error as error:
        answer = {"error": f"the pattern is not valid: {error}"}
    except OSError as error:
        answer = {"error": f"the place cannot be searched: {error.strerror}"}
    except (RecursionError, MemoryError, OverflowError):
        answer = {"error": "the search needed too much memory"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()

"""glob and grep. The work is done in a child process, see search_process.py."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.redaction.ends import Redact
from neuraphage.tools.base import Params, ParsedTool, PathText, Text, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.grep_dialects import dialect_hint
from neuraphage.tools.paths import ResolvedPath, os_failure, resolve
from neuraphage.tools.search_child import MAX_LINE_CHARS
from neuraphage.tools.search_process import run_search
from neuraphage.tools.second_look import SecondLook
from neuraphage.tools.unseen_characters import unseen_note

SEARCH_TIMEOUT_S = 20.0
MAX_NAMES = 1_000
MAX_CONTEXT_LINES = 20
_WORDS = {"large": "over 10 MB", "link": "links", "special": "special files"}

_Pattern = Annotated[Text, Field(min_length=1, max_length=2_000)]


class GlobParams(Params):
    """Parameters of glob."""

    pattern: Annotated[
        _Pattern, Field(description="Such as `*.py` (in `path` itself) or `src/**/*.{ts,tsx}` (at any depth).")
    ]
    path: Annotated[PathText, Field(description="Directory to search; default the working directory.")] = "."


class Glob(ParsedTool[GlobParams]):
    """Find files by name."""

    params_model = GlobParams

    def __init__(self, timeout_s: float = SEARCH_TIMEOUT_S) -> None:
        super().__init__(
            ToolDeclaration(
                name="glob",
                description=(
                    "Find files by name, newest first. `*` stays in one directory, `**` crosses them. .git,"
                    " what .gitignore"
                    " names, and anything deeper than 25 directories is left out."
                ),
                input_schema=input_schema(GlobParams),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=timeout_s,
                traits=BUILTIN_TRAITS["glob"],
            )
        )

    def carry_out(self, params: GlobParams, context: ToolContext) -> ToolResult:
        """Names, one a line."""
        if params.pattern.startswith("/") or ".." in params.pattern.split("/"):
            raise ToolCallError(
                "The pattern of glob must be relative and without `..`. Put the directory into `path` instead."
            )
        place, mode = _searchable(params.path, context)
        if not stat.S_ISDIR(mode):
            raise ToolCallError(f"Could not search {place.shown}: it is a file, not a directory. Name a directory.")
        request = {
            "kind": "glob",
            **_where(place),
            "pattern": params.pattern.removeprefix("./"),
            "max_results": MAX_NAMES,
        }
        second_look = SecondLook(self.declaration.timeout_s, context.interrupt)
        answer = run_search(request, self.declaration.timeout_s, context.interrupt)
        notes = _limits(answer)
        if not answer["lines"]:
            notes += second_look.at_names(request, params.pattern)
        if answer["left_out"]:
            notes.append(f"[{answer['left_out']} more files left out; use a narrower pattern]")
        lines = [name.replace("\n", "\\n") for name in answer["lines"]]
        if unseen := unseen_note(lines):
            notes.append(unseen)
        return ToolResult(text="\n".join([*(lines or ["No file matches."]), *notes]))


class GrepParams(Params):
    """Parameters of grep."""

    pattern: Annotated[_Pattern, Field(description="Python regular expression, matched against each line.")]
    path: Annotated[PathText, Field(description="File or directory to search; default the working directory.")] = "."
    glob: Annotated[
        _Pattern | None,
        Field(description="Only files of this name, such as `*.py`; with a slash: this path below `path`."),
    ] = None
    case_insensitive: Annotated[bool, Field(description="Ignore upper and lower case.")] = False
    context_lines: Annotated[
        int, Field(ge=0, le=MAX_CONTEXT_LINES, description="Lines shown before and after each match.")
    ] = 0
    before_lines: Annotated[
        int | None, Field(ge=0, le=MAX_CONTEXT_LINES, description="Lines before it, if not context_lines.")
    ] = None
    after_lines: Annotated[
        int | None, Field(ge=0, le=MAX_CONTEXT_LINES, description="Lines after it, if not context_lines.")
    ] = None
    max_results: Annotated[int, Field(ge=1, le=1_000, description="Most matches.")] = 100


class Grep(ParsedTool[GrepParams]):
    """Find lines by regular expression."""

    params_model = GrepParams

    def __init__(self, timeout_s: float = SEARCH_TIMEOUT_S) -> None:
        super().__init__(
            ToolDeclaration(
                name="grep",
                description=(
                    "Find lines that match a regular expression: `path:line:text`, context as"
                    " `path-line-text`. .git, what"
                    " .gitignore names, links, binary files and files over 10 MB are skipped."
                ),
                input_schema=input_schema(GrepParams),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=timeout_s,
                traits=BUILTIN_TRAITS["grep"],
            )
        )

    def carry_out(self, params: GrepParams, context: ToolContext) -> ToolResult:
        """Matches, one a line."""
        place, _ = _searchable(params.path, context)
        around = params.context_lines
        request = {
            **params.model_dump(exclude={"path", "context_lines"}),
            "kind": "grep",
            **_where(place),
            "before_lines": around if params.before_lines is None else params.before_lines,
            "after_lines": around if params.after_lines is None else params.after_lines,
            # As in other search tools: a filter without a slash is about the file name, at any depth.
            "glob": params.glob if params.glob is None or "/" in params.glob else f"**/{params.glob}",
        }
        second_look = SecondLook(self.declaration.timeout_s, context.interrupt)
        try:
            answer = run_search(request, self.declaration.timeout_s, context.interrupt)
        except ToolCallError as error:
            hint = dialect_hint(params.pattern)
            raise ToolCallError(f"{error} {hint}" if hint else str(error)) from error
        notes = _limits(answer)
        if not answer["lines"]:
            notes += second_look.at_lines(request, answer["fitting"], params.glob)
        if answer["skipped"]:
            counts = ", ".join(f"{count} {_WORDS.get(why, why)}" for why, count in sorted(answer["skipped"].items()))
            notes.append(f"[files skipped: {counts}]")
        lines = [line if isinstance(line, str) else cut_line(line, context.redact) for line in answer["lines"]]
        if unseen := unseen_note(lines):
            notes.append(unseen)
        return ToolResult(text="\n".join([*(lines or ["No line matches."]), *notes]))


def cut_line(found: Mapping[str, Any], redact: Redact) -> str:
    """A long line's part around the match, without secrets and halves of them, and how much of it was left out.

    Args:
        found: what `search_child.long_line` made of it.
        redact: takes secrets out.
    """
    raw = found["text"]
    text = redact(raw)
    behind_chars = len(raw) - found["start"] - MAX_LINE_CHARS
    # where the line goes on beyond the raw text, a secret may be there in part only
    first = found["start"] if found["first"] > 0 else 0
    end = len(text) - (behind_chars if found["first"] + len(raw) < found["line_chars"] else 0)
    start = max(first, min(found["start"], end - MAX_LINE_CHARS))
    shown = text[start : max(start, min(start + MAX_LINE_CHARS, end))]
    left_out_chars = found["line_chars"] - len(raw) + len(text) - len(shown)
    return f"{found['head']}{shown} [{left_out_chars} characters left out]"


def _searchable(path: str, context: ToolContext) -> tuple[ResolvedPath, int]:
    """The place and its mode."""
    place = resolve(path, context.working_dir)
    try:
        with place.holder() as (fd, name):
            return place, os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except OSError as error:
        raise os_failure("search", place.shown, error, place=place) from error


def _where(place: ResolvedPath) -> dict[str, Any]:
    """What the process that searches is told of the place: it goes down from the very root that was resolved."""
    return {"root": str(place.root), "base": str(place.path), "root_id": [place.pin.device, place.pin.inode]}


def _limits(answer: dict[str, Any]) -> list[str]:
    notes = []
    if not answer["lines"] and any(answer["ignored"]):
        files, directories = answer["ignored"]
        counts = [f"{files} file{'s' * (files != 1)}"] * bool(files)
        counts += [f"{directories} director{'ies' if directories != 1 else 'y'}"] * bool(directories)
        notes.append(
            f"[ignored by rules of git: {', '.join(counts)}; name one of them as path to search it, or use run_command]"
        )
    if answer["stopped"]:
        notes.append(f"[stopped early: {answer['stopped']}; narrow the pattern or the path]")
    if answer["too_deep"]:
        notes.append("[directories deeper than 25 levels were not searched; name one of them as path]")
    if answer["unreadable"]:
        notes.append(f"[directories that could not be read: {answer['unreadable']}]")
    return notes

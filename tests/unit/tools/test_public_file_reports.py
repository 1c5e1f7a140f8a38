"""Inputs of public reports on the file tools of other agents, tried on ours. Each row names repository and number."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.tool import ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.files import MAX_FILE_BYTES
from neuraphage.tools.freshness import digest
from neuraphage.tools.registry import default_toolbox

Files = Mapping[str, bytes]
A = "a.txt"


@dataclass(frozen=True)
class Report:
    """One input.

    Args:
        cite: where it was reported.
        tool, params: the call.
        says: a part of the result.
        files: what is there, and was read by the model.
        after: files that have changed, with their content; all others are as before.
        fails: whether the result tells of an error.
        make: makes what is no plain file, in the working directory.
    """

    cite: str
    tool: str
    params: Mapping[str, Any]
    says: str
    files: Files = field(default_factory=dict)
    after: Files = field(default_factory=dict)
    fails: bool = False
    make: Callable[[Path], object] = lambda root: None


def edited(cite: str, before: bytes, old: str, new: str, after: bytes, says: str = "Edited", **more: Any) -> Report:
    """An edit that is made."""
    return Report(
        cite, "edit", {"path": A, "old_string": old, "new_string": new, **more}, says, {A: before}, {A: after}
    )


def refused(cite: str, before: bytes, old: str, new: str, says: str, **more: Any) -> Report:
    """An edit that is not made; the file is as before."""
    params = {"path": A, "old_string": old, "new_string": new, **more}
    return Report(cite, "edit", params, says, {A: before}, fails=True)


def wrote(cite: str, path: str, content: str, after: Files, before: Files | None = None, **more: Any) -> Report:
    """A file that is written."""
    return Report(cite, "write_file", {"path": path, "content": content}, "Wrote", before or {}, after, **more)


def unwritten(cite: str, path: str, says: str, before: Files | None = None, content: str = "x", **more: Any) -> Report:
    """A file that is not written."""
    return Report(cite, "write_file", {"path": path, "content": content}, says, before or {}, fails=True, **more)


def read(cite: str, data: bytes, says: str, *, fails: bool = False, path: str = A, **more: Any) -> Report:
    """A read of a file with this content."""
    return Report(cite, "read_file", {"path": path, **more}, says, {A: data}, fails=fails)


def unread(cite: str, path: str, says: str, files: Files | None = None, **more: Any) -> Report:
    """A read that is refused."""
    return Report(cite, "read_file", {"path": path}, says, files or {}, fails=True, **more)


def found(cite: str, tool: str, says: str, files: Files, **params: Any) -> Report:
    """A search."""
    return Report(cite, tool, params, says, files)


def link(to: str) -> Callable[[Path], None]:
    """Makes a link `l`."""
    return lambda root: (root / "l").symlink_to(to)


def pipe(root: Path) -> None:
    """A named pipe that nobody writes into."""
    os.mkfifo(root / "pipe")


def huge(root: Path) -> None:
    """A file over the limit that takes no room."""
    with (root / HUGE).open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)


VICTIM = "../work-victim"
"""A directory beside the working directory, whose name begins alike."""
HUGE = "huge"
PAGE = {"app/[id]/page.tsx": b"needle\n"}
LIBRARY = {".gitignore": b"lib\n", "lib/e/package.json": b"{}"}
OLD, NEW = 'log("done");', 'log("$& $1 $$ $` $\' ok");'
REPORTS = [
    # how lines end, and what stands at the beginning and the end of a file
    edited("openclaw/openclaw#116011", b"10%\r20%\r100%\nend\n", "end", "END", b"10%\r20%\r100%\nEND\n"),
    edited("openclaw/openclaw#116011", b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
    edited("use-agent-os/agent-os#1909", b"a = 1\nb = 2\nc = 3\n", "b = 2", "b = 22", b"a = 1\nb = 22\nc = 3\n"),
    edited("Gitlawb/zero#376", b"a\r\nb\r\nc\r\n", "a\nb", "A\nB\nX", b"A\r\nB\r\nX\r\nc\r\n"),
    edited("kolega-ai/kolega-code#197", b"a\r\nb\r\nc\r\n", "a\r\nb", "A\r\nB", b"A\r\nB\r\nc\r\n"),
    wrote("Kuberwastaken/claurst#225", A, "x\ny\n", {A: b"x\r\ny\r\n"}, {A: b"a\r\nb\r\n"}),
    wrote(
        "anthropics/claude-code#13363", A, "s\xe9curis\xe9", {A: "\ufeffs\xe9curis\xe9".encode()}, {A: b"\xef\xbb\xbf"}
    ),
    wrote("anomalyco/opencode#21297", A, "no line end", {A: b"no line end"}),
    edited("zarldev/zarlmono#26", b"one\ntwo", "two", "TWO", b"one\nTWO"),
    refused("amaiya/patchpal#28", b"one\ntwo", "two\n", "2\n", "without the line breaks at its start or end"),
    # what is replaced
    refused("bojieli/ai-agent-book#178", b"abcd", "", "X", "old_string", replace_all=True),
    refused("bytedance/deer-flow#4256", b"def f()", "", "# H\n", "old_string"),
    edited("anomalyco/opencode#45892", f"{OLD}\n".encode(), OLD, NEW, f"{NEW}\n".encode()),
    edited("MiniMax-AI/minimax-code#155", b"a a", "a", "$&$$", b"$&$$ $&$$", replace_all=True),
    refused("google-gemini/gemini-cli#3520", b"x\n", "x", "x", "are the same"),
    refused(
        "earendil-works/pi#3554", "\u201chi\u201d \u2014 x\n".encode(), '"hi"', '"ho"', "characters that look alike"
    ),
    edited("anthropics/claude-code#37403", b"\t\t<P>\n\t\t\t<div\n", "\t\t<P>\n\t\t\t<div", "\t\t<Q>", b"\t\t<Q>\n"),
    refused("Gitlawb/openclaude#613", b"one\n\ttwo\n", "     1\tone\n     2\t\ttwo", "x", "without the line numbers"),
    refused("agent0ai/agent-zero#1773", b"old\n", "old", "\ud83c\udf78", "surrogate pair"),
    # what is shown
    read("NousResearch/hermes-agent#83022", b"a\nb\nc", "     3\tc", offset=3),
    read("Zoo-Code-Org/Zoo-Code#1728", b"a\nb\n", "has 2 lines; offset 100 is past its end", fails=True, offset=100),
    read("NousResearch/hermes-agent#82804", b"", "is empty"),
    read("NousResearch/hermes-agent#76886", ("\u0410" * 500).encode(), "\u0410" * 500),
    read("NousResearch/hermes-agent#77842", "\u8fd9\u662f".encode("gbk") * 50, "not UTF-8", fails=True),
    refused("anthropics/anthropic-sdk-python#1745", b"caf\xe9 menu\n", "menu", "carte", "not UTF-8"),
    found("langchain-ai/deepagents#5787", "grep", f"{A}:6:needle", {A: b"a\nb\n\n\x0c\nd\nneedle\n"}, pattern="needle"),
    read("langchain-ai/deepagents#5787", b"a\nb\n\n\x0c\nd\nneedle\n", "     6\tneedle", offset=6),
    found("use-agent-os/agent-os#3217", "grep", f"{A}:2:needle", {A: b"b\rc\nneedle\n"}, pattern="needle"),
    # names
    unread("anthropics/claude-code#59381", "v 1.txt", "differs by characters that look alike", {"v\u00a01.txt": b""}),
    unwritten("cursor/cursor#3146", "~/x/autostart.desktop", "~ is not replaced here"),
    unwritten("bug-ops/zeph#5410", "$HOME/x.py", "$HOME is not replaced here"),
    Report("Trae-AI/TRAE#33", "read_file", {"path": "app/[id]/page.tsx"}, "needle", PAGE),
    found("Aider-AI/aider#5530", "glob", "app/[id]/page.tsx", PAGE, pattern="app/[id]/*.tsx"),
    found("Aider-AI/aider#5530", "glob", "[post-id]/a.ts", {"[post-id]/a.ts": b""}, pattern="[post-id]/*.ts"),
    found(
        "cline/cline#860", "glob", "(home)/[...all]/a.ts", {"(home)/[...all]/a.ts": b""}, pattern="(home)/[...all]/*"
    ),
    unwritten("NousResearch/hermes-agent#115506", "d", "is a directory", {"d/x": b""}),
    unwritten("supernovae-st/nika#1504", "out/replies/", "name a file", content=""),
    unwritten("agentic-os-org/ANOLISA#2211", f"{A}/", "name a file", {A: b"a"}),
    unwritten("elixir-ai-tools/just_bash#56", "j/2026/a.md", "a part of the path is a file", {"j": b"a"}),
    # links, and what leads outside
    wrote("anthropics/claude-code#28376", "l", "new", {"real": b"new"}, {"real": b"old"}, make=link("real")),
    unwritten("Lore-Hex/QuillCode#722", "l/evil", "outside", make=link(VICTIM)),
    unwritten("nextlevelbuilder/goclaw#1201", "l", "outside", make=link(f"{VICTIM}/new")),
    unread("octos-org/octos#886", "l/secret", "outside", make=link(VICTIM)),
    unread("SkillfulAgents/SuperAgent#209", f"{VICTIM}/secret", "outside"),
    Report(
        "liquidos-ai/AutoAgents#272",
        "grep",
        {"pattern": "needle"},
        "No line matches",
        make=link(f"{VICTIM}/secret"),
    ),
    Report(
        "use-agent-os/agent-os#844", "list_directory", {"path": "."}, "a.txt 1\nl@", {A: b"a"}, make=link("nothing")
    ),
    # what is no plain file, or too big
    unread("BaseIntelligence/bounty-challenge#51357", "pipe", "not a regular file", make=pipe),
    Report("can1357/oh-my-pi#565", "grep", {"pattern": "needle"}, f"{A}:1:needle", {A: b"needle"}, make=pipe),
    unread("agentic-os-org/ANOLISA#2099", HUGE, "over the limit", make=huge),
    # searches
    found("anomalyco/opencode#3524", "grep", f"{A}:1:--release", {A: b"--release ->\n"}, pattern="--release"),
    found("getsentry/junior#313", "glob", "src/h.ts", {"src/h.ts": b""}, pattern="src/**/*.ts"),
    found(
        "griffinwork40/agent-afk#436",
        "glob",
        "a/b/c.ts\na/x/b/y/c.ts",
        {"a/b/c.ts": b"", "a/x/b/y/c.ts": b""},
        pattern="a/**/b/**/c.ts",
    ),
    found(
        "anomalyco/opencode#31994",
        "glob",
        "ignored by rules of git: 1 directory",
        LIBRARY,
        pattern="lib/e/package.json",
    ),
    found("anomalyco/opencode#31994", "glob", "lib/e/package.json", LIBRARY, pattern="**/*.json", path="lib"),
    found(
        "esengine/DeepSeek-Reasonix#2660",
        "glob",
        "s/keep.log",
        {".gitignore": b"*.log\n", "s/.gitignore": b"!keep.log\n", "s/keep.log": b"", "s/b.log": b""},
        pattern="**/*.log",
    ),
    found("cloudwego/eino#1300", "grep", "No line matches", {A: b"x"}, pattern="needle", path=A),
    found(
        "anthropics/claude-code#78827",
        "grep",
        "xneedley",
        {A: b"x" * 3_000 + b"needle" + b"y" * 3_000},
        pattern="needle",
    ),
]


@pytest.mark.parametrize("report", REPORTS, ids=[f"{n}-{report.cite}" for n, report in enumerate(REPORTS)])
def test_an_input_of_a_public_report(root: Path, context: ToolContext, report: Report) -> None:
    """What is reported there does not happen here: the result tells the truth, and no byte more than asked changes."""
    for name, data in report.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
        os.utime(root / name, (1.0, 1.0))  # glob lists the newest first; files of one moment come by name
    victim = root / VICTIM
    victim.mkdir()
    (victim / "secret").write_bytes(b"needle")
    report.make(root)
    seen = {str((root / name).resolve()): SeenFile(digest(data), ((1, None),)) for name, data in report.files.items()}
    tool = default_toolbox().get(report.tool)
    assert tool is not None
    problem = tool.check(report.params)
    result = (
        tool.run(report.params, replace(context, files_seen=seen))
        if problem is None
        else ToolResult(text=problem, is_error=True)
    )
    assert report.says in result.text
    assert result.is_error is report.fails
    assert len(result.text) < 2_000
    plain = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and path.name != HUGE]
    assert {path.relative_to(root).as_posix(): path.read_bytes() for path in plain} == {**report.files, **report.after}
    assert [path.name for path in victim.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    ("cite", "mode"), [("Digital-Process-Tools/claude-supertool#259", 0o755), ("coder/coder#23336", 0o640)]
)
def test_an_edit_keeps_the_mode(root: Path, context: ToolContext, cite: str, mode: int) -> None:
    """A script stays one that can be run."""
    script = root / A
    script.write_bytes(b"#!/bin/sh\nX\n")
    script.chmod(mode)
    seen = {str(script): SeenFile(digest(script.read_bytes()), ((1, None),))}
    tool = default_toolbox().get("edit")
    assert tool is not None
    result = tool.run({"path": A, "old_string": "X", "new_string": "Y"}, replace(context, files_seen=seen))
    assert not result.is_error, cite
    assert script.stat().st_mode & 0o7777 == mode


def test_a_stale_write_is_refused(root: Path, context: ToolContext) -> None:
    """adolfousier/opencrabs#954: what another process wrote after the read is kept."""
    (root / A).write_bytes(b"theirs\n")
    seen = {str(root / A): SeenFile(digest(b"as read\n"), ((1, None),))}
    tool = default_toolbox().get("write_file")
    assert tool is not None
    result = tool.run({"path": A, "content": "ours\n"}, replace(context, files_seen=seen))
    assert "has changed since it was last read" in result.text
    assert (root / A).read_bytes() == b"theirs\n"

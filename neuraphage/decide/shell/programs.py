"""What a program runs in its turn: `sudo`, `env`, `xargs`, `find -exec`, `bash -c` and their like. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from neuraphage.decide.shell.line_takers import (
    NOTHING,
    SHELLS,
    Inner,
    line_behind_c,
    line_in,
    of_alias,
    of_file,
    of_git,
    of_shell,
    of_trap,
    split_string,
    uncertain,
)
from neuraphage.model.shell import ShellWord, SimpleCommand


@dataclass(frozen=True, slots=True)
class _Runner:
    """How a program takes the command that it runs.

    Args:
        valued: its options that take the next word as their value.
        operands: how many words of its own stand before the command.
        assigns: whether NAME=VALUE may stand before it too.
        queries: options with which it runs nothing.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    queries: frozenset[str] = frozenset()


def _runner(valued: str = "", operands: int = 0, *, assigns: bool = False, queries: str = "") -> _Runner:
    return _Runner(frozenset(valued.split()), operands, assigns, frozenset(queries.split()))


_SUDO = "-u --user -g --group -p --prompt -C --close-from -h --host -r --role -t --type -T -U -D --chdir -R --chroot"
RUNNERS: Mapping[str, _Runner] = {
    "builtin": _runner(),
    "fakeroot": _runner("-l -s -i -f"),
    "gosu": _runner(operands=1),
    "parallel": _runner("-j --jobs -n -I -a --delay --joblog --results"),
    "pkexec": _runner("--user"),
    "systemd-run": _runner("-p --property -u --unit -M --machine -t --on-active"),
    "busybox": _runner(),
    "chroot": _runner(operands=1),
    "chrt": _runner("-T -P -D", operands=1),
    "command": _runner(queries="-v -V"),
    "doas": _runner("-u -C"),
    "env": _runner("-u --unset -C --chdir", assigns=True),
    "exec": _runner("-a"),
    "flock": _runner("-w --wait --timeout -E --conflict-exit-code", operands=1),
    "ionice": _runner("-c --class -n --classdata"),
    "nice": _runner("-n --adjustment"),
    "nohup": _runner(),
    "setsid": _runner(),
    "stdbuf": _runner("-i --input -o --output -e --error"),
    "strace": _runner("-o -e -p -s -u -E -I -O -S -P -a -b"),
    "sudo": _runner(_SUDO, assigns=True),
    "taskset": _runner(operands=1),
    "time": _runner("-f --format -o --output"),
    "timeout": _runner("-s --signal -k --kill-after", operands=1),
    "toybox": _runner(),
    "unshare": _runner(),
    "xargs": _runner("-I -L -n -P -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file"),
}
"""Programs that run the command which their words end with."""
_LINE_TAKERS = frozenset({"flock", "runuser", "script", "su"})
"""Programs that take a whole line behind `-c`; shells do too."""
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_EVALUATES: Mapping[str, _Runner] = {
    "eval": _runner(),
    "ssh": _runner("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", operands=1),
    "watch": _runner("-n --interval"),
}
"""Programs that put their words together into a line, with what stands before it."""


def inner_of(command: SimpleCommand) -> Inner:
    """What a command runs in its turn."""
    name, words = command.name, command.words[1:]
    if name is None:
        return Inner(unclear=(f"which program it runs is not certain: {command.words[0].source}",))
    within = (*command.within, name)
    if name in SHELLS:
        return of_shell(name, words)
    if name in _EVALUATES:
        return _together(name, _behind(_EVALUATES[name], words))
    if name in _PARTICULAR:
        return _PARTICULAR[name](words)
    if name == "find":
        return Inner(tuple(SimpleCommand(found, within) for found in _executed(words)))
    line = split_string(words) if name == "env" else line_behind_c(words) if name in _LINE_TAKERS else None
    if line is not None:
        return line_in(name, line)
    runner = RUNNERS.get(name)
    rest = () if runner is None else _behind(runner, words)
    return Inner((SimpleCommand(rest, within),)) if rest else NOTHING


def runs_others(command: SimpleCommand) -> bool:
    """Whether a command is one of a program that runs others, or lines, whatever it runs this time."""
    name = command.name
    known = SHELLS | RUNNERS.keys() | _EVALUATES.keys() | _LINE_TAKERS | (_PARTICULAR.keys() - {"git"})
    return name is None or name in known or inner_of(command) != NOTHING


def _behind(runner: _Runner, words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """The words of the command that a runner runs; none where it runs none."""
    at, operands = 0, runner.operands
    while at < len(words):
        text = words[at].text or ""
        if text in runner.queries:
            return ()
        if text == "--":
            return tuple(words[at + 1 + operands :])
        if text.startswith("-") and len(text) > 1:
            at += _taken(text, runner.valued)
        elif runner.assigns and "=" in text.lstrip("=") and text.partition("=")[0].replace("_", "a").isalnum():
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            return tuple(words[at:])
    return ()


def _taken(option: str, valued: frozenset[str]) -> int:
    """How many words an option takes with its value: letters may stand together, and long names may be shortened."""
    if option.startswith("--"):
        return 2 if "=" not in option and any(name.startswith(option) for name in valued) else 1
    for at, letter in enumerate(option[1:], start=2):
        if f"-{letter}" in valued:
            return 2 if at == len(option) else 1
    return 1


def _together(name: str, words: Sequence[ShellWord]) -> Inner:
    texts = [word.text for word in words]
    if any(text is None for text in texts):
        return uncertain(name)
    line = " ".join(text for text in texts if text)
    return Inner(lines=(line,), unclear=(f"{name} reads its words as a line once more",)) if line else NOTHING


def _executed(words: Sequence[ShellWord]) -> list[tuple[ShellWord, ...]]:
    """The commands behind find's `-exec` and its like."""
    found, begun = [], None
    for at, word in enumerate(words):
        if begun is None:
            begun = at + 1 if word.text in _EXEC else None
        elif word.text in (";", "+"):
            found.append(tuple(words[begun:at]))
            begun = None
    if begun is not None:
        found.append(tuple(words[begun:]))
    return [one for one in found if one]


_PARTICULAR: Mapping[str, Callable[[Sequence[ShellWord]], Inner]] = {
    ".": partial(of_file, "it"),
    "alias": of_alias,
    "git": of_git,
    "source": partial(of_file, "it"),
    "trap": of_trap,
}
"""Programs with a way of their own."""
